/** Objects that the pool of `answers.ts` would write. */
import { FIRST } from "./answers.ts";

export const POOL = {
  apiVersion: "macpool.network.kubevirt.io/v1alpha1",
  kind: "MACPool",
  metadata: { name: "default" },
  spec: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" }] },
  status: {
    observedGeneration: 1,
    ranges: ["02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff"],
    capacity: 16777216,
    used: 1,
    free: 16777215,
  },
};

export const CLAIM = {
  apiVersion: "macpool.network.kubevirt.io/v1alpha1",
  kind: "MACClaim",
  metadata: { name: "mac-02-5d-1c-00-00-a3", resourceVersion: "72" },
  spec: { mac: FIRST, pool: "default", origin: "automatic" },
  status: {
    phase: "Allocated",
    owners: [
      { kind: "VirtualMachine", namespace: "default", name: "web", interface: "net1", since: "2026-11-21T09:14:03Z" },
    ],
  },
};

/** The NodeMACs of a node whose interface eno1 has the addresses. */
export function reportOf(name: string, macs: readonly string[]): object {
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: `uid-${name}` }];
  return { metadata: { name, ownerReferences }, addresses: macs.map((mac) => ({ mac, interface: "eno1" })) };
}
