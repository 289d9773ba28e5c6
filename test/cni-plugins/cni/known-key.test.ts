import { describe, expect, it } from "vitest";
import { nearestKey } from "../../../cni-plugins/cni/known-key.ts";

describe("the nearest key", () => {
  it.each([
    ["brigde", "bridge"],
    ["hairpinmode ", "hairpinMode"],
    ["portIsolated", "portIsolation"],
    ["vlans", "vlan"],
    ["colour", undefined],
    ["x", undefined],
    ["", undefined],
  ])("to %j is %j", (key, nearest) => {
    expect(nearestKey(key, ["bridge", "hairpinMode", "portIsolation", "vlan", "mtu"])).toBe(nearest);
  });
});
