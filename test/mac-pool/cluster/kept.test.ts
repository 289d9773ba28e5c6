import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../src/api/mac.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import { LAUNCHER, LAUNCHER_LABEL, NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import { compactClaim, SharedValues } from "../../../src/mac-pool/cluster/shared-values.ts";
import { instanceMacs, machineMacs } from "../../../src/mac-pool/objects/listed-macs.ts";
import { macsOfRunningInstance } from "../../../src/mac-pool/objects/running.ts";
import { concernsPool, slimInstance, slimMachine, slimPod } from "../../../src/mac-pool/objects/slim.ts";
import { share } from "../../support/share.ts";

const FIRST = 0x02_5d_1c_00_00_00;

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const owner = (name: string) => ({
  kind: "VirtualMachine" as const,
  namespace: "default",
  name,
  uid: `uid-of-${name}`,
  interface: "nic-0",
  network: "multus br1-net",
  since: "2026-01-01T00:00:00.000Z",
});

function claim(mac: number, owners: readonly ReturnType<typeof owner>[]): MACClaim {
  const made = newClaim(mac as Mac, { pool: "default", origin: "explicit" }, { phase: "Bound", owners: [...owners] });
  return { ...made, metadata: { ...made.metadata, uid: `claim-${mac}`, annotations: { note: "by hand" } } };
}

describe("what the caches keep", () => {
  it("of a claim is everything, and what claims have in common is kept once", () => {
    const shared = new SharedValues();
    const claims = [1, 5, 9].map((mac) => claim(mac, [owner("web"), owner(`other-${mac}`)]));
    const kept = claims.map((original) => compactClaim(copy(original), shared));
    expect(kept).toEqual(claims);
    expect(kept[0]?.metadata.labels).toBe(kept[2]?.metadata.labels);
    const bare = {
      metadata: { name: "mac-02-00-00-00-00-09" },
      spec: { mac: "02:00:00:00:00:09", origin: "explicit" },
    };
    expect(compactClaim(copy(bare) as MACClaim, shared)).toEqual(bare);
  });

  it("of values that repeat is nothing that is long", () => {
    const shared = new SharedValues();
    const copyOf = (text: string): { readonly text: string } => JSON.parse(JSON.stringify({ text }));
    const [short, long] = ["x".repeat(300), "x".repeat(600)];
    expect(shared.object(copyOf(short))).toBe(shared.object(copyOf(short)));
    expect(shared.object(copyOf(long))).not.toBe(shared.object(copyOf(long)));
  });

  it("of any VM or instance says the same about its addresses as the object itself", () => {
    const shared = new SharedValues();
    const odd = fc.constantFrom<unknown>(null, {}, 7, "text", []);
    const name = fc.constantFrom<unknown>("a", "b", "c", "", 7, null);
    const mac = fc.constantFrom<unknown>("02:00:00:00:00:01", "02-00-00-00-00-02", "no", "", 7);
    const state = fc.constantFrom<unknown>("absent", "up", 7);
    const nic = fc.record({ name, macAddress: mac, masquerade: odd, bridge: odd, state }, { requiredKeys: [] });
    const multus = fc.constantFrom<unknown>({ networkName: "x", more: 1 }, { networkName: 7 }, null, "x");
    const network = fc.record(
      { name, multus, resourceClaim: fc.constantFrom<unknown>({ claimName: "x" }, null), pod: odd },
      { requiredKeys: [] },
    );
    const listOf = (entry: fc.Arbitrary<unknown>) => fc.oneof(fc.array(fc.oneof(entry, odd), { maxLength: 4 }), odd);
    const spec = fc.record({ interfaces: listOf(nic), networks: listOf(network) });
    const seen = listOf(fc.record({ name, mac }, { requiredKeys: [] }));
    fc.assert(
      fc.property(spec, seen, ({ interfaces, networks }, reported) => {
        const guest = { domain: { devices: { interfaces } }, networks };
        const metadata = { namespace: "default", name: "web", uid: "u1" };
        const vm = { metadata, spec: { template: { spec: guest } } };
        const vmi = { metadata, spec: guest, status: { interfaces: reported } };
        expect(machineMacs(slimMachine(copy(vm), shared))).toEqual(machineMacs(vm));
        expect(instanceMacs(slimInstance(copy(vmi), shared))).toEqual(instanceMacs(vmi));
        expect(macsOfRunningInstance(slimInstance(copy(vmi), shared))).toEqual(macsOfRunningInstance(vmi));
      }),
      { numRuns: share(1_000) },
    );
  });

  it("of VMs and instances that somebody writes without measure is a part", () => {
    const shared = new SharedValues();
    const long = "x".repeat(1_000_000);
    const named = (index: number) => ({ name: `n${index}`, macAddress: formatMac((FIRST + index) as Mac), bridge: {} });
    const many = Array.from({ length: 10_000 }, (_, index) => named(index));
    const networks = many.map(({ name }) => ({ name, multus: { networkName: "x" } }));
    const guests = [
      { interfaces: many, networks },
      { interfaces: [named(0), { name: long, macAddress: long }], networks: [...networks.slice(0, 1), { name: long }] },
      { interfaces: [named(0)], networks: [networks[0], { name: "n1", multus: { networkName: long } }] },
    ].map(({ interfaces, networks }) => ({ domain: { devices: { interfaces } }, networks }));
    for (const guest of guests) {
      const metadata = { namespace: "default", name: "web", uid: "u1" };
      const reported = [...many, { name: long, mac: long }].map((nic) => ({ mac: "02:00:00:00:00:09", ...nic }));
      const vm = slimMachine(copy({ metadata, spec: { template: { spec: guest } } }), shared);
      const vmi = slimInstance(copy({ metadata, spec: guest, status: { interfaces: reported } }), shared);
      expect(machineMacs(vm)[0]?.mac).toBe(FIRST);
      expect(instanceMacs(vmi)[0]?.mac).toBe(FIRST);
      expect(JSON.stringify(vm).length).toBeLessThan(50_000);
      expect(JSON.stringify(vmi).length).toBeLessThan(50_000);
    }
  });

  it("is no pod but those that list an address or belong to an instance", () => {
    const other = [{ name: "cluster-default", default: true, mac: "0a:58:0a:00:00:01" }];
    const net1 = [{ name: "default/br1-net", interface: "net1", mac: "02:00:00:00:00:01" }];
    const pod = (annotations: Record<string, unknown>, more: object = {}, phase = "Running") => {
      const texts = Object.entries(annotations).map(([key, value]) => [key, JSON.stringify(value)]);
      const metadata = { namespace: "default", name: "p", uid: "u1", annotations: Object.fromEntries(texts), ...more };
      return { metadata, status: { phase } };
    };
    const ofInstance = {
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "web", uid: "u2" }],
    };
    const kept = [
      pod({ [NETWORKS_ANNOTATION]: net1 }),
      pod({ [NETWORK_STATUS_ANNOTATION]: [...other, ...net1] }),
      pod({}, ofInstance, "Succeeded"),
    ];
    const dropped = [
      pod({}),
      pod({}, { labels: { [LAUNCHER_LABEL]: LAUNCHER } }),
      pod({ [NETWORK_STATUS_ANNOTATION]: other }),
      pod({ [NETWORKS_ANNOTATION]: net1 }, {}, "Succeeded"),
    ];
    expect([...kept, ...dropped].filter((each) => concernsPool(slimPod(each)))).toEqual(kept);
  });

  it("is bounded however many values pass by", () => {
    const shared = new SharedValues();
    const first = shared.object({ a: "1" });
    expect(shared.object({ a: "1" })).toBe(first);
    for (let i = 0; i < 30_000; i++) shared.object({ a: String(i + 2) });
    expect(shared.object({ a: "1" })).not.toBe(first);
  });
});
