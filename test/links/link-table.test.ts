import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LinkEvent } from "../../src/links/link-event.ts";
import { LinkTable } from "../../src/links/link-table.ts";

const link = (index: number, name: string, kind: string): LinkEvent => {
  return { event: "link", index, name, kind, master: 0, mac: "02:00:00:00:00:01", permanentMac: undefined };
};
const bridge = (index: number, name: string): LinkEvent => link(index, name, "bridge");
const other = (index: number, name: string): LinkEvent => link(index, name, "veth");

const names = (table: LinkTable): string[] => [...new Set(table.links.map(({ name }) => name))].sort();

const bridgeTable = (): LinkTable => new LinkTable((link) => (link.kind === "bridge" ? link : undefined));

function tableOf(...events: LinkEvent[]): LinkTable {
  const table = bridgeTable();
  for (const event of events) table.apply(event);
  return table;
}

describe("the table of links", () => {
  it("knows nothing until the first dump has ended", () => {
    const table = tableOf(bridge(3, "br1"));
    expect([table.known, table.synced]).toEqual([false, false]);
    table.apply({ event: "synced" });
    expect([table.known, table.synced]).toEqual([true, true]);
    expect(names(table)).toEqual(["br1"]);
  });

  it("follows bridges that come, go and change their name", () => {
    const table = tableOf(bridge(3, "br1"), { event: "synced" });
    expect(table.apply(bridge(5, "br2"))).toBe(true);
    expect(table.apply(bridge(3, "br9"))).toBe(true);
    expect(names(table)).toEqual(["br2", "br9"]);
    expect(table.apply({ event: "gone", index: 5 })).toBe(true);
    expect(names(table)).toEqual(["br9"]);
  });

  it("keeps no other links, and says that nothing changed", () => {
    const table = tableOf(bridge(3, "br1"), other(1, "lo"), { event: "synced" });
    expect(table.apply(other(7, "veth0"))).toBe(false);
    expect(table.apply({ event: "gone", index: 7 })).toBe(false);
    expect(table.apply(bridge(3, "br1"))).toBe(false);
    expect(names(table)).toEqual(["br1"]);
  });

  it("forgets a bridge whose index another link has now", () => {
    const table = tableOf(bridge(3, "br1"), { event: "synced" });
    table.apply(other(3, "eth0"));
    expect(names(table)).toEqual([]);
  });

  it("keeps what it knows during a new dump and drops at its end what the dump did not name", () => {
    const table = tableOf(bridge(3, "br1"), bridge(4, "br2"), { event: "synced" }, { event: "lost" });
    table.apply(bridge(4, "br2"));
    expect(names(table)).toEqual(["br1", "br2"]);
    expect([table.known, table.synced]).toEqual([true, false]);
    table.apply({ event: "synced" });
    expect(names(table)).toEqual(["br2"]);
  });

  it("has the lowest index first, and takes neither a heartbeat nor what is no link for a change", () => {
    const table = tableOf(bridge(5, "br1"), bridge(3, "br2"), { event: "synced" });
    expect(table.links.map(({ index }) => index)).toEqual([3, 5]);
    const others = [{ event: "alive" }, { event: "namespace-gone" }, { event: "report", report: undefined }] as const;
    expect(others.map((event) => table.apply(event))).toEqual([false, false, false]);
  });

  it("keeps what it knows when the monitor starts anew", () => {
    const table = tableOf(bridge(3, "br1"), { event: "synced" });
    table.restart();
    expect([names(table), table.synced]).toEqual([["br1"], false]);
  });

  it("ends every dump with exactly the bridges the kernel has, whatever happened before and during it", () => {
    const change = fc.record({
      index: fc.integer({ min: 1, max: 6 }),
      to: fc.constantFrom("bridge", "veth", "gone"),
      name: fc.constantFrom("a", "b", "c"),
    });
    fc.assert(
      fc.property(fc.array(change), fc.array(change), fc.array(change), (unseen, seen, during) => {
        const kernel = new Map<number, { name: string; kind: string }>();
        const table = bridgeTable();
        const happen = ({ index, to, name }: { index: number; to: string; name: string }): LinkEvent => {
          if (to === "gone") kernel.delete(index);
          else kernel.set(index, { name, kind: to });
          return to === "gone" ? { event: "gone", index } : link(index, name, to);
        };
        for (const item of unseen) happen(item);
        for (const item of seen) table.apply(happen(item));
        table.apply({ event: "lost" });
        for (const [index, { name, kind }] of kernel) table.apply(link(index, name, kind));
        for (const item of during) table.apply(happen(item));
        table.apply({ event: "synced" });
        const bridges = [...kernel.values()].filter(({ kind }) => kind === "bridge").map(({ name }) => name);
        expect(names(table)).toEqual([...new Set(bridges)].sort());
      }),
    );
  });
});
