/** MACClaims for the benchmark: an API server full of them, and changes to them at a steady rate. */

import { claimName, formatMac, type Mac } from "../../src/api/mac.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { defineResource, type KubeObject } from "../../src/kube/client/resource.ts";

export const CLAIMS = defineResource("macpool.network.kubevirt.io/v1alpha1", "MACClaim", "macclaims", false);

const FIRST_MAC = 0x02_00_00_00_00_00;
const IN_FLIGHT = 64;
const NAMESPACES = 200;

export const claimMac = (index: number): Mac => (FIRST_MAC + index) as Mac;

/** About 700 bytes, of the shape that the pool writes. */
export function claim(index: number): KubeObject {
  const mac = claimMac(index);
  const namespace = `tenant-${index % NAMESPACES}`;
  return {
    apiVersion: "macpool.network.kubevirt.io/v1alpha1",
    kind: "MACClaim",
    metadata: {
      name: claimName(mac),
      labels: {
        "macpool.network.kubevirt.io/namespace": namespace,
        "macpool.network.kubevirt.io/kind": "VirtualMachine",
        "macpool.network.kubevirt.io/phase": "Bound",
      },
    },
    spec: { mac: formatMac(mac), pool: "default", origin: "automatic" },
    status: {
      phase: "Bound",
      owner: `VirtualMachine/${namespace}/vm-${index}`,
      owners: [
        {
          kind: "VirtualMachine",
          namespace,
          name: `vm-${index}`,
          uid: `00000000-0000-4000-8000-${index.toString(16).padStart(12, "0")}`,
          interface: "default",
          network: "tenant-bridge",
          since: "2026-01-02T03:04:05Z",
        },
      ],
    },
  };
}

/** Creates claims 0 to `count`. */
export async function fill(client: KubeClient, count: number, progress: (done: number) => void): Promise<void> {
  await inParallel(count, async (index) => {
    await client.create(CLAIMS, claim(index), { fieldManager: "mac-pool" });
    if ((index + 1) % 10_000 === 0) progress(index + 1);
  });
}

/** Changes one claim after the other at `perSecond` for `seconds`; gives the number of changes and how long it took. */
export async function change(
  client: KubeClient,
  options: { readonly claims: number; readonly perSecond: number; readonly seconds: number },
): Promise<{ changes: number; ms: number }> {
  const { claims, perSecond, seconds } = options;
  const changes = perSecond * seconds;
  const startedMs = performance.now();
  await inParallel(changes, async (index) => {
    const dueMs = startedMs + (index * 1000) / perSecond - performance.now();
    if (dueMs > 1) await new Promise((resolve) => setTimeout(resolve, dueMs));
    const ref = { name: claimName(claimMac((index * 7919) % claims)) };
    await client.patch(CLAIMS, ref, {
      type: "merge",
      body: { status: { until: new Date(index * 1000).toISOString() } },
    });
  });
  return { changes, ms: performance.now() - startedMs };
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}
