/** MACClaims for the benchmark: an API server full of them, and changes to them at a steady rate. */

import { claimName, formatMac, type Mac } from "../../src/api/mac.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { defineResource, type KubeObject } from "../../src/kube/client/resource.ts";

export const CLAIMS = defineResource("macpool.network.kubevirt.io/v1alpha1", "MACClaim", "macclaims", false);

const FIRST_MAC = 0x02_00_00_00_00_00;
const IN_FLIGHT = 16;
const STORED_UNDER = "/registry/macpool.network.kubevirt.io/macclaims/";
/** etcd takes 128 operations at most in one transaction. */
const ETCD_BATCH = 100;
const ETCD_IN_FLIGHT = 4;
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

/**
 * The claims in etcd. The first is created by the API server, the others are copies of what it stored, written straight
 * into etcd, as are the changes: an API server takes minutes for what etcd takes in seconds, and on a small machine
 * cannot make 1,000 changes a second. Who lists and watches gets everything from the API server and cannot tell.
 */
export class StoredClaims {
  readonly #etcdUrl: string;
  readonly #first: KubeObject;

  static async create(client: KubeClient, etcdUrl: string): Promise<StoredClaims> {
    const first = claim(0);
    await client.create(CLAIMS, first, { fieldManager: "mac-pool" });
    const { kvs } = await etcd(etcdUrl, "range", { key: base64(storedUnder(first)) });
    return new StoredClaims(etcdUrl, JSON.parse(Buffer.from(kvs?.[0]?.value ?? "", "base64").toString()));
  }

  private constructor(etcdUrl: string, first: KubeObject) {
    this.#etcdUrl = etcdUrl;
    this.#first = first;
  }

  /** Creates claims 1 to `count`. */
  async fill(count: number): Promise<void> {
    const batches = Math.ceil((count - 1) / ETCD_BATCH);
    await inParallel(batches, ETCD_IN_FLIGHT, async (batch) => {
      const from = 1 + batch * ETCD_BATCH;
      const indexes = Array.from({ length: Math.min(ETCD_BATCH, count - from) }, (_, offset) => from + offset);
      await etcd(this.#etcdUrl, "txn", { success: indexes.map((index) => ({ request_put: this.#put(index, {}) })) });
    });
  }

  /** Whether the API server, which follows etcd some ten seconds behind after a fill, has come as far as this claim. */
  async isCached(client: KubeClient, index: number): Promise<boolean> {
    const path = `/apis/${CLAIMS.group}/${CLAIMS.version}/${CLAIMS.plural}/${claimName(claimMac(index))}`;
    return (await client.raw("GET", path, { query: { resourceVersion: 0 } })).status === 200;
  }

  /** Changes one claim after the other at `perSecond` for `seconds`; gives the number of changes and how long it took. */
  async change(options: {
    readonly claims: number;
    readonly perSecond: number;
    readonly seconds: number;
  }): Promise<{ changes: number; ms: number }> {
    const { claims, perSecond, seconds } = options;
    const changes = perSecond * seconds;
    const startedMs = performance.now();
    await inParallel(changes, IN_FLIGHT, async (number) => {
      const dueMs = startedMs + (number * 1000) / perSecond - performance.now();
      if (dueMs > 1) await new Promise((resolve) => setTimeout(resolve, dueMs));
      const index = 1 + ((number * 7919) % (claims - 1));
      await etcd(this.#etcdUrl, "put", this.#put(index, { until: new Date(number * 1000).toISOString() }));
    });
    return { changes, ms: performance.now() - startedMs };
  }

  #put(index: number, status: object): { key: string; value: string } {
    const { metadata, ...content } = claim(index);
    const object = {
      ...this.#first,
      ...content,
      status: { ...(content.status as object), ...status },
      metadata: { ...this.#first.metadata, ...metadata, uid: uidOf(index) },
    };
    return { key: base64(storedUnder(object)), value: base64(`${JSON.stringify(object)}\n`) };
  }
}

const storedUnder = ({ metadata }: KubeObject): string => `${STORED_UNDER}${metadata.name}`;
const uidOf = (index: number): string => `00000000-0000-4000-9000-${index.toString(16).padStart(12, "0")}`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function etcd(
  url: string,
  call: "range" | "txn" | "put",
  body: object,
): Promise<{ readonly kvs?: readonly { readonly value: string }[] }> {
  const answer = await fetch(`${url}/v3/kv/${call}`, { method: "POST", body: JSON.stringify(body) });
  if (answer.status !== 200) throw new Error(`etcd refuses ${call}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { kvs?: { value: string }[] };
}

async function inParallel(count: number, inFlight: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
