import { describe, expect, it } from "vitest";
import { lacks } from "../../../tools/debian/programs.ts";
import { capture, versions } from "./captures.ts";
import captured from "./requests.json" with { type: "json" };

const { inGuest: _, ...stored } = captured;
const found = lacks("nft", "strace") ? undefined : await versions();

describe("requests of other programs", () => {
  it.skipIf(found?.iproute2 !== stored.iproute2 || found?.nft !== stored.nft)("are those that are stored", async () => {
    expect(await capture()).toEqual(stored);
  });
});
