import { describe, expect, it } from "vitest";
import { capture, iproute2Version } from "./captures.ts";
import stored from "./requests.json" with { type: "json" };

const installed = await iproute2Version();

describe("requests of other programs", () => {
  it.skipIf(installed !== stored.iproute2)("are those that are stored", async () => {
    expect(await capture()).toEqual(stored);
  });
});
