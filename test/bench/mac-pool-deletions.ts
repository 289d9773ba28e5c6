/** Deletion of VMs, until the pool has their addresses in quarantine, and until they are free again. */

import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { macsOf } from "../mac-pool/machines.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { NAMESPACE, type Side } from "./mac-pool-sides.ts";
import { type RequestCounts, requestsOfEach } from "./request-counts.ts";

const IN_FLIGHT = 16;
const LIMIT_MS = 180_000;

export interface Deletions {
  /** Until the last address is in quarantine or free. */
  readonly quarantinedMs: number;
  /** Of each deletion, until the addresses are free, without the deletion itself. */
  readonly requests: RequestCounts;
  /** Processor time of the pool for each deletion. */
  readonly poolMs: number;
}

export async function measureDeletions(side: Side, count: number): Promise<Deletions> {
  const { admin } = side.harness;
  const { items } = await admin.list(KINDS.virtualMachines, { namespace: NAMESPACE });
  const vms = items.slice(0, count);
  await using claims = await ClaimsOf.start(side, new Set(vms.flatMap(macsOf)));
  const before = await side.requests();
  let quarantinedMs = Number.NaN;
  const used = await side.usedBy(async () => {
    const startMs = performance.now();
    await inFlight(IN_FLIGHT, vms.length, async (index) => {
      await admin.delete(KINDS.virtualMachines, { name: vms[index]?.metadata.name ?? "", namespace: NAMESPACE });
    });
    await eventually("all addresses are in quarantine", () => claims.held === 0, { limitMs: LIMIT_MS });
    quarantinedMs = performance.now() - startMs;
    await eventually("all addresses are free", () => claims.left === 0, { limitMs: LIMIT_MS });
  });
  const requests = requestsOfEach(before, await side.requests(), {
    objects: vms.length,
    own: "DELETE virtualmachines",
  });
  return { quarantinedMs, requests, poolMs: used.pool / vms.length };
}

/** The claims of some addresses, as a watch shows them. */
class ClaimsOf implements AsyncDisposable {
  /** Address -> phase. */
  readonly #phases = new Map<string, string | undefined>();
  readonly #over = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  static async start({ harness: { admin } }: Side, macs: ReadonlySet<string | undefined>): Promise<ClaimsOf> {
    const claims = new ClaimsOf();
    const { signal } = claims.#over;
    const { items, resourceVersion } = await admin.list(KINDS.claims);
    const ours = items.filter(({ spec }) => macs.has(spec.mac));
    for (const { spec, status } of ours) claims.#phases.set(spec.mac, status?.phase);
    const watch = async (): Promise<void> => {
      for await (const { type, object } of admin.watch(KINDS.claims, { resourceVersion, signal })) {
        if (type !== "MODIFIED" && type !== "DELETED") continue;
        const { mac } = object.spec;
        if (type === "DELETED") claims.#phases.delete(mac);
        else if (claims.#phases.has(mac)) claims.#phases.set(mac, object.status?.phase);
      }
    };
    claims.#watching = watch().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return claims;
  }

  get left(): number {
    return this.#phases.size;
  }

  /** Not in quarantine. */
  get held(): number {
    return this.#phases
      .values()
      .filter((phase) => phase !== "Quarantined")
      .toArray().length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#watching;
  }
}
