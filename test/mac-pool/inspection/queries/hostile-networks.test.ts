import { describe, expect, it } from "vitest";
import type { NetworkView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { InspectionFixture, type InspectionFixtureOptions } from "../inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, rawNad, reportOf } from "../networks.ts";

async function networksOf(options: InspectionFixtureOptions): Promise<Map<string, NetworkView>> {
  await using fixture = await InspectionFixture.start(options);
  const { items } = await fixture.inspector.networks.networks({ limit: 500 }, { namespace: undefined });
  return new Map(items.map((item) => [item.name, item]));
}

const codesOf = (network: NetworkView): string[] => network.findings.map(({ code }) => code);

describe("networks that somebody writes without measure", () => {
  it("make no long answer", async () => {
    const name = (index: number): string => `${String(index).padStart(4, "0")}${"n".repeat(249)}`;
    const keys = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`key${index}${"k".repeat(20)}`, 1]));
    const vlanTrunk = Array.from({ length: 90 }, (_, index) => ({ id: 2 + index * 2 }));
    const nads = Array.from({ length: 300 }, (_, index) =>
      rawNad(
        "n".repeat(63),
        name(index),
        JSON.stringify({ cniVersion: "0.3.1", type: "bridge", bridge: "br1", vlanTrunk, ...keys }),
        { "k8s.v1.cni.cncf.io/resourceName": "r".repeat(10_000) },
      ),
    );
    const found = await networksOf({ nads, nodeMacs: [reportOf("node-a", [bridgeOf("br1")])] });
    expect(found.size).toBe(300);
    const sizes = [...found.values()].map((network) => JSON.stringify(network).length);
    expect(Math.max(...sizes)).toBeLessThan(4_096);
    const [first] = found.values();
    expect(first?.findings).toHaveLength(4);
    expect(first?.moreFindings).toBe(8);
    expect(first?.trunk).toMatch(/^2,4,.*,\.\.\.$/);
  });

  it("show a VM that is on many networks once for each of them", async () => {
    const networks = Array.from({ length: 300 }, (_, index) => `net-${index % 3}`);
    const nads = ["net-0", "net-1", "net-2"].map((one) => nadOf("a", one));
    const found = await networksOf({ nads, instances: [guestOf("a", "vm", networks, "gone")] });
    expect([...found.values()].map(({ running }) => running)).toEqual([1, 1, 1]);
    expect(found.get("net-0")?.cells).toEqual([{ node: "gone", running: 1, verdict: "Unknown" }]);
  });

  it("leave one that takes long to read to the lint of the command line", async () => {
    const trunk = Array.from({ length: 100 }, () => ({ minID: 1, maxID: 4_094 }));
    const plugins = Array.from({ length: 100 }, () => ({ type: "bridge", bridge: "br1" }));
    const nads = [
      rawNad("a", "trunk", JSON.stringify({ type: "bridge", bridge: "br1", vlanTrunk: trunk })),
      rawNad("a", "plugins", JSON.stringify({ name: "a", plugins })),
    ];
    const found = await networksOf({ nads });
    expect([...found.values()].map(codesOf)).toEqual([["config-too-long"], ["config-too-long"]]);
  });
});
