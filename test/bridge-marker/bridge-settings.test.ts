import { describe, expect, it } from "vitest";
import { MAX_NODE_BRIDGES } from "../../src/api/node-report.ts";
import { BridgeSettings } from "../../src/bridge-marker/bridge-settings.ts";
import { type LinkEvent, parseLinkEvent } from "../../src/bridge-marker/link-event.ts";

const BR1 = "bridge.network.kubevirt.io/br1";

function link(index: number, name: string, more: object = {}): LinkEvent {
  const line = JSON.stringify({ event: "link", index, name, kind: "bridge", mtu: 1500, ...more });
  return parseLinkEvent(line) as LinkEvent;
}

describe("how the bridges of a node are set", () => {
  it("is told of the published ones, with what the link monitor says of them", () => {
    const settings = new BridgeSettings();
    const lines = [
      link(5, "br2"),
      link(2, "br1", { mtu: 9000, vlanFiltering: true }),
      link(3, "eth0", { kind: "" }),
      link(4, "br3"),
    ];
    for (const event of [...lines, { event: "synced" } as const]) settings.apply(event);
    expect(settings.of(new Set([BR1, "bridge.network.kubevirt.io/br2"]))).toEqual([
      { name: "br1", mtu: 9000, vlanFiltering: true },
      { name: "br2", mtu: 1500, vlanFiltering: false },
    ]);
    expect(settings.of(new Set())).toEqual([]);
  });

  it("changes with the MTU and the filtering, and not with the address", () => {
    const settings = new BridgeSettings();
    for (const event of [link(2, "br1"), { event: "synced" } as const]) settings.apply(event);
    expect(settings.apply(link(2, "br1", { mac: "02:00:00:00:00:02", up: true }))).toBe(false);
    expect(settings.apply(link(2, "br1", { mtu: 1400 }))).toBe(true);
    expect(settings.apply(link(2, "br1", { mtu: 1400, vlanFiltering: true }))).toBe(true);
    expect(settings.apply({ event: "gone", index: 2 })).toBe(true);
    expect(settings.of(new Set([BR1]))).toEqual([]);
  });

  it("is told of as many as a report may have", () => {
    const settings = new BridgeSettings();
    const names = Array.from({ length: MAX_NODE_BRIDGES + 5 }, (_, number) => `br${number}`);
    for (const [number, name] of names.entries()) settings.apply(link(number + 2, name));
    settings.apply({ event: "synced" });
    const published = new Set(names.map((name) => `bridge.network.kubevirt.io/${name}`));
    expect(settings.of(published)).toHaveLength(MAX_NODE_BRIDGES);
  });
});
