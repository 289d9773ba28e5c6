import { describe, expect, it } from "vitest";
import { addressesIn } from "../../src/api/host-interfaces.ts";
import { formatMac } from "../../src/api/mac.ts";
import type { NodeMac } from "../../src/api/node-macs.ts";
import { MAX_NODE_MACS } from "../../src/api/node-report.ts";
import type { OwnerReference } from "../../src/api/object-meta.ts";

const NODE: OwnerReference = { apiVersion: "v1", kind: "Node", name: "node-a", uid: "u" };

function read(addresses: readonly NodeMac[], ownerReferences: readonly OwnerReference[] = [NODE]) {
  const found = addressesIn({ metadata: { name: "node-a", ownerReferences: [...ownerReferences] }, addresses });
  return [...found].map(([mac, name]) => `${formatMac(mac)} ${name}`);
}

const numbered = (number: number): NodeMac => ({
  mac: `52:54:00:00:00:${number.toString(16).padStart(2, "0")}`,
  interface: "eno1",
});

describe("the report of a node", () => {
  it("tells its addresses with their interfaces", () => {
    expect(read([numbered(1), { mac: "52:54:00:00:00:02", interface: "bond0" }])).toEqual([
      "52:54:00:00:00:01 eno1",
      "52:54:00:00:00:02 bond0",
    ]);
  });

  it("counts only while it goes with its node", () => {
    expect(read([numbered(1)], [])).toEqual([]);
    expect(read([numbered(1)], [{ ...NODE, name: "node-b" }])).toEqual([]);
    expect(read([numbered(1)], [{ ...NODE, kind: "ConfigMap" }])).toEqual([]);
  });

  it("says nothing by what no interface can have, and no more than a node may report", () => {
    const wrong = ["00:00:00:00:00:00", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "nonsense"];
    expect(read(wrong.map((mac) => ({ mac, interface: "eno1" })))).toEqual([]);
    const many = Array.from({ length: MAX_NODE_MACS + 9 }, (_, number) => numbered(number));
    expect(read(many)).toHaveLength(MAX_NODE_MACS);
    expect(addressesIn({ metadata: { name: "node-a", ownerReferences: [NODE] } } as never).size).toBe(0);
  });
});
