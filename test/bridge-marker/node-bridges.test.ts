import { describe, expect, it } from "vitest";
import { EVERY_BRIDGE } from "../../src/bridge-marker/bridge-selection.ts";
import type { LinkEvent } from "../../src/bridge-marker/link-event.ts";
import { NodeBridges } from "../../src/bridge-marker/node-bridges.ts";

const key = (name: string): string => `bridge.network.kubevirt.io/${name}`;
const link = (index: number, name: string, kind: string, master = 0): LinkEvent => {
  return { event: "link", index, name, kind, master, mac: "", permanentMac: undefined };
};

function bridgesOf(onlyWithPorts: boolean, ...events: LinkEvent[]): NodeBridges {
  const bridges = new NodeBridges({ ...EVERY_BRIDGE, onlyWithPorts });
  for (const event of events) bridges.apply(event);
  return bridges;
}

describe("the node's bridges as resources", () => {
  it("are named, and those that are left out have a reason", () => {
    const bridges = bridgesOf(false, link(3, "br1", "bridge"), link(4, "br_", "bridge"), link(5, "eth0", ""));
    expect(bridges.resources()).toEqual({
      keys: new Set([key("br1")]),
      skipped: [{ name: "br_", reason: "illegal-name" }],
    });
  });

  it("come with their first port and go with their last one, where only those with ports count", () => {
    const bridges = bridgesOf(true, link(3, "br1", "bridge"), { event: "synced" });
    expect(bridges.resources().keys).toEqual(new Set());
    expect(bridges.apply(link(7, "veth0", "veth", 3))).toBe(true);
    expect(bridges.apply(link(8, "veth1", "veth", 3))).toBe(true);
    expect(bridges.resources().keys).toEqual(new Set([key("br1")]));
    bridges.apply(link(7, "veth0", "veth"));
    expect(bridges.resources().keys).toEqual(new Set([key("br1")]));
    expect(bridges.apply({ event: "gone", index: 8 })).toBe(true);
    expect(bridges.resources().skipped).toEqual([{ name: "br1", reason: "no-ports" }]);
  });

  it("are no port's business where all count", () => {
    const bridges = bridgesOf(false, link(3, "br1", "bridge"), { event: "synced" });
    expect(bridges.apply(link(7, "veth0", "veth", 3))).toBe(false);
  });

  it("do not take a port of a bond for one of a bridge", () => {
    const bridges = bridgesOf(true, link(3, "br1", "bridge"), link(4, "bond0", "bond"), link(5, "eth0", "", 4));
    expect(bridges.resources().keys).toEqual(new Set());
  });

  it("stay while the monitor starts anew, also their ports", () => {
    const bridges = bridgesOf(true, link(3, "br1", "bridge"), link(7, "veth0", "veth", 3), { event: "synced" });
    bridges.restart();
    expect([bridges.known, bridges.synced]).toEqual([true, false]);
    expect(bridges.resources().keys).toEqual(new Set([key("br1")]));
    for (const event of [link(3, "br1", "bridge"), { event: "synced" } as const]) bridges.apply(event);
    expect(bridges.resources().keys).toEqual(new Set());
  });

  it("take a heartbeat for no news", () => {
    expect(bridgesOf(true).apply({ event: "alive" })).toBe(false);
  });
});
