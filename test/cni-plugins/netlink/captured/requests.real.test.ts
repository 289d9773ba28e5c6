import { describe, expect, it } from "vitest";
import { capture, versions } from "./captures.ts";
import captured from "./requests.json" with { type: "json" };

const { inGuest: _, ...stored } = captured;
const { iproute2, nft } = await versions();

describe("requests of other programs", () => {
  it.skipIf(iproute2 !== stored.iproute2 || nft !== stored.nft)("are those that are stored", async () => {
    expect(await capture()).toEqual(stored);
  });
});
