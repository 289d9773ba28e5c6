import { afterEach, expect, it, vi } from "vitest";
import { formatMac, type Mac } from "../../../src/api/mac.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { FIRST, InspectionFixture, vmOf } from "../inspection/inspection-fixture.ts";

const NAMESPACES = { plain: { "mutatevirtualmachines.kubemacpool.io": "ignore" } };
const OBJECTS = 10;
const MACS = Array.from({ length: 32 }, (_, offset) => (FIRST + offset) as Mac);

afterEach(() => vi.restoreAllMocks());

const looksAtAll = ({ caches }: InspectionFixture): number[] => [
  ...new Set(MACS.map((mac) => caches.objectsListing(mac).length + caches.claimants(mac).length)),
];

it("reads the networks of each pod once, however many addresses all of them list", async () => {
  const networks = JSON.stringify(MACS.map((mac) => ({ name: "blue", mac: formatMac(mac) })));
  const annotations = { "k8s.v1.cni.cncf.io/networks": networks };
  const pods = Array.from({ length: OBJECTS }, (_, index) => ({
    metadata: { namespace: "plain", name: `pod-${index}`, uid: `pod-${index}`, annotations },
  }));
  await using fixture = await InspectionFixture.start({ namespaces: NAMESPACES, pods });
  const parsed = vi.spyOn(JSON, "parse");
  expect(looksAtAll(fixture)).toEqual([OBJECTS]);
  expect(parsed.mock.calls.length).toBeLessThanOrEqual(OBJECTS);
});

it("reads the interfaces of each VM once", async () => {
  let reads = 0;
  const machines = Array.from({ length: OBJECTS }, (_, index) => vmOf("plain", `vm-${index}`, MACS));
  await using fixture = await InspectionFixture.start({ namespaces: NAMESPACES, machines });
  for (const machine of fixture.caches.machines.list()) countReads(machine, () => (reads += 1));
  expect(looksAtAll(fixture)).toEqual([OBJECTS]);
  expect(reads).toBeLessThanOrEqual(OBJECTS * MACS.length);
});

/** Calls for each look at the name of an interface. */
function countReads(machine: KubeObject, onRead: () => void): void {
  const { template } = machine.spec as {
    template: { spec: { domain: { devices: { interfaces: { name: string }[] } } } };
  };
  for (const nic of template.spec.domain.devices.interfaces) {
    const { name } = nic;
    const get = (): string => {
      onRead();
      return name;
    };
    Object.defineProperty(nic, "name", { get });
  }
}
