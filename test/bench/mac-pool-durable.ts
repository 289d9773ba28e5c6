import { fork } from "node:child_process";
import { join } from "node:path";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { PoolBed } from "../mac-pool/pool-bed.ts";
import { askChild } from "./ask-child.ts";
import type { BenchContext } from "./bench.ts";
import type { DurableOrder } from "./durable-caller.ts";
import { poolKubeconfig } from "./mac-pool-scale.ts";

export const RATE = 100;
/** Pending claims of one namespace are limited. */
const NAMESPACES = Array.from({ length: 24 }, (_, index) => `bench-${index}`);
/** At the steady rate: by then both sides have the connections that they need and run compiled code. */
const WARM_UP_SECONDS = 5;
/** The disk and the API server stall for some 50 ms every few seconds: a p99 of 20 s is decided by how many of them each side met. */
const SECONDS = 60;
/** So that the young generation of the caller is collected hardly ever. */
const NODE_FLAGS = ["--max-semi-space-size=32"];

/**
 * Milliseconds of admissions that make two durable claims each, and of the same two writes by a bare client: second by
 * second in turn, each at a steady rate, by a process of their own.
 */
export async function measureDurable(
  bed: PoolBed,
  { log, env }: BenchContext,
): Promise<{ readonly admissions: number[]; readonly creations: number[] }> {
  const seconds = Number(env.MAC_POOL_BENCH_SECONDS ?? SECONDS);
  for (const name of NAMESPACES) await bed.admin.create(RESOURCES.namespaces, { metadata: { name } });
  const caller = fork(join(import.meta.dirname, "durable-caller.ts"), { execArgv: NODE_FLAGS });
  try {
    const obey = (order: DurableOrder) => askChild<readonly number[]>(caller, order);
    const port = Number(new URL(bed.httpsUrl("one")).port);
    await obey({ what: "begin", kubeconfig: await poolKubeconfig(bed), port, namespaces: NAMESPACES });
    const second = (what: "admit" | "create") => obey({ what, calls: RATE, perSecond: RATE });
    log(`${RATE} automatic 2-NIC VMs a second, and as many pairs of bare writes in turn, for ${seconds} s each`);
    for (let warmUp = 0; warmUp < WARM_UP_SECONDS; warmUp++)
      for (const what of ["admit", "create"] as const) await second(what);
    const samples = { admissions: [] as number[], creations: [] as number[] };
    for (let measured = 0; measured < seconds; measured++) {
      samples.admissions.push(...(await second("admit")));
      samples.creations.push(...(await second("create")));
    }
    return samples;
  } finally {
    caller.disconnect();
  }
}
