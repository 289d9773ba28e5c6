import type { Mac } from "../../src/api/mac.ts";
import { parseMac } from "../../src/api/mac.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { newClaim } from "../../src/mac-pool/core/claim.ts";
import { pendingStatus } from "../../src/mac-pool/core/grant.ts";
import { PENDING_MS } from "../../src/mac-pool/core/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import type { PoolBed } from "../mac-pool/pool-bed.ts";
import type { BenchContext } from "./bench.ts";
import { admissionReview, Caller, virtualMachine } from "./mac-pool-calls.ts";
import { poolClient } from "./mac-pool-scale.ts";

export const RATE = 100;
/** Pending claims of one namespace are limited. */
const NAMESPACES = 8;
const WARM_UP = 200;
/** At the steady rate: by then both have the connections that they need. */
const WARM_UP_SECONDS = 3;

/**
 * Milliseconds of admissions that make two durable claims each, and of the same two writes by a bare client: second by
 * second in turn, each at a steady rate, whether or not the one before was answered.
 */
export async function measureDurable(
  bed: PoolBed,
  { log, env }: BenchContext,
): Promise<{ readonly admissions: number[]; readonly creations: number[] }> {
  const seconds = Number(env.MAC_POOL_BENCH_SECONDS ?? 20);
  for (let i = 0; i < NAMESPACES; i++)
    await bed.admin.create(RESOURCES.namespaces, { metadata: { name: `bench-${i}` } });
  using caller = new Caller(Number(new URL(bed.httpsUrl("one")).port));
  await using client = await poolClient(bed);
  let vm = 0;
  const admit = (): Promise<number> => {
    const [name, namespace] = [`vm-${vm}`, `bench-${vm % NAMESPACES}`];
    vm += 1;
    return caller.call(admissionReview("CREATE", namespace, name, virtualMachine(name, namespace)));
  };
  let next = parseMac("025d1e000000") ?? (0 as Mac);
  const create = async (): Promise<number> => {
    const startMs = performance.now();
    const since = new Date().toISOString();
    const made = ["a", "b"].map((nic) => {
      const named = { kind: "VirtualMachine" as const, namespace: `bench-${next % NAMESPACES}`, name: `bare-${next}` };
      const status = pendingStatus(
        [{ ...named, interface: nic, network: "multus br1-net", since }],
        Date.now() + PENDING_MS,
      );
      const claim = newClaim(next, { pool: "default", origin: "automatic" }, status);
      next = (next + 1) as Mac;
      return client.create(KINDS.claims, claim);
    });
    await Promise.all(made);
    return performance.now() - startMs;
  };
  for (let i = 0; i < WARM_UP; i++) for (const call of [admit, create]) await call();
  log(`${RATE} automatic 2-NIC VMs a second, and as many pairs of bare writes in turn, for ${seconds} s each`);
  const samples = { admissions: [] as number[], creations: [] as number[] };
  for (let second = 0; second < WARM_UP_SECONDS; second++) for (const call of [admit, create]) await steadily(call);
  for (let second = 0; second < seconds; second++) {
    samples.admissions.push(...(await steadily(admit)));
    samples.creations.push(...(await steadily(create)));
  }
  return samples;
}

/** One second of calls. */
async function steadily(call: () => Promise<number>): Promise<number[]> {
  const startMs = performance.now();
  const calls: Promise<number>[] = [];
  for (let i = 0; i < RATE; i++) {
    const waitMs = startMs + (i * 1000) / RATE - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    calls.push(call());
  }
  return Promise.all(calls);
}
