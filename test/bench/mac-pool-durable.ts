import { fork } from "node:child_process";
import { join } from "node:path";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { PoolBed } from "../mac-pool/pool-bed.ts";
import { askChild } from "./ask-child.ts";
import type { BenchContext } from "./bench.ts";
import type { DurableOrder, DurableSamples } from "./durable-caller.ts";
import { poolKubeconfig } from "./mac-pool-scale.ts";

export const RATE = 100;
/** Pending claims of one namespace are limited. */
const NAMESPACES = Array.from({ length: 24 }, (_, index) => `bench-${index}`);
/** At the steady rate: by then both sides have the connections that they need and run compiled code. */
const WARM_UP_SECONDS = 5;
/** A pool has no more than 20,000 addresses pending: 300 claims a second are under that for a minute. */
const SECONDS = 50;
const SHORT_SECONDS = 10;
/** So that the young generation of the caller is collected hardly ever. */
const NODE_FLAGS = ["--max-semi-space-size=32"];

/**
 * Admissions that make two durable claims each, and the same two writes by a bare client, in between. The disk and the API
 * server stall for some 50 ms every few seconds: only sides that meet the same stalls have a p99 that can be compared.
 */
export async function measureDurable(bed: PoolBed, { log, env, short }: BenchContext): Promise<DurableSamples> {
  const seconds = Number(env.MAC_POOL_BENCH_SECONDS ?? (short ? SHORT_SECONDS : SECONDS));
  for (const name of NAMESPACES) await bed.admin.create(RESOURCES.namespaces, { metadata: { name } });
  const caller = fork(join(import.meta.dirname, "durable-caller.ts"), { execArgv: NODE_FLAGS });
  try {
    const port = Number(new URL(bed.httpsUrl("one")).port);
    const begin = { what: "begin", kubeconfig: await poolKubeconfig(bed), port, namespaces: NAMESPACES } as const;
    await askChild(caller, begin satisfies DurableOrder);
    const during = (time: number): Promise<DurableSamples> => {
      const order: DurableOrder = { what: "call", admissions: RATE * time, perSecond: RATE };
      return askChild<DurableSamples>(caller, order);
    };
    log(`${RATE} automatic 2-NIC VMs a second, and half as many pairs of bare writes in between, for ${seconds} s`);
    await during(WARM_UP_SECONDS);
    return await during(seconds);
  } finally {
    caller.disconnect();
  }
}
