/**
 * Clusters that differ in their MAC pool alone: none, one in the memory of one process, ours as the operator renders it. Each has a
 * control plane of its own, so that they can be asked in turns.
 */

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { macPoolWebhooks } from "../../src/operator/components/kube-mac-pool-webhooks.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { Balancer } from "../mac-pool/balancer.ts";
import { machine, macsOf } from "../mac-pool/machines.ts";
import { POOL_NAMESPACE, PoolBed } from "../mac-pool/pool-bed.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { eventually } from "../support/eventually.ts";
import { webhooksAt } from "../support/webhooks-at.ts";
import { askChild } from "./ask-child.ts";
import type { InMemoryOrder, InMemoryReady } from "./in-memory-pool.ts";
import { residentMb } from "./mac-pool-scale.ts";
import { type RequestCounts, readRequestCounts } from "./request-counts.ts";

export const NAMESPACE = "honest";

const RANGE = { start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" };
const WINDOW_MS = 100;
/** Of a window: a pool that uses less is at rest. */
const AT_REST_MS = 5;
const CATCH_UP_LIMIT_MS = 120_000;

/** Processor time in milliseconds. */
export interface Used {
  readonly pool: number;
  readonly apiServer: number;
  readonly etcd: number;
}

interface Pool extends AsyncDisposable {
  readonly pids: readonly number[];
  /** Milliseconds until one more process of it, which ends then, is ready. */
  startAnother(): Promise<number>;
}

export class Side implements AsyncDisposable {
  readonly name: string;
  readonly bed: PoolBed;
  readonly controlPlane: ControlPlane;
  readonly #pool: Pool | undefined;

  private constructor(name: string, bed: PoolBed, controlPlane: ControlPlane, pool: Pool | undefined) {
    this.name = name;
    this.bed = bed;
    this.controlPlane = controlPlane;
    this.#pool = pool;
  }

  static async start(name: string, startPool?: (bed: PoolBed) => Promise<Pool>): Promise<Side> {
    const controlPlane = await startControlPlane();
    const bed = await PoolBed.start({ controlPlane });
    try {
      await bed.admin.create(RESOURCES.namespaces, { metadata: { name: NAMESPACE } });
      return new Side(name, bed, controlPlane, await startPool?.(bed));
    } catch (error) {
      await bed[Symbol.asyncDispose]();
      throw error;
    }
  }

  get pool(): Pool {
    if (this.#pool === undefined) throw new Error(`${this.name} has no pool`);
    return this.#pool;
  }

  /** So far. */
  used(): Used {
    return {
      pool: this.#poolMs(),
      apiServer: cpuMsOf(this.controlPlane.pidOf("kube-apiserver")),
      etcd: cpuMsOf(this.controlPlane.pidOf("etcd")),
    };
  }

  /** By `work` and what the pool does about it afterwards. */
  async usedBy(work: () => Promise<unknown>): Promise<Used> {
    const before = this.used();
    await work();
    await this.caughtUp();
    const after = this.used();
    const grown = (name: keyof Used): number => after[name] - before[name];
    return { pool: grown("pool"), apiServer: grown("apiServer"), etcd: grown("etcd") };
  }

  /** Until the pool is at rest. */
  async caughtUp(): Promise<void> {
    if (this.#pool === undefined) return;
    const rests = async (): Promise<boolean> => {
      const beforeMs = this.#poolMs();
      await sleep(WINDOW_MS);
      return this.#poolMs() - beforeMs < AT_REST_MS;
    };
    await eventually(`${this.name} at rest`, rests, { limitMs: CATCH_UP_LIMIT_MS });
  }

  /** Of all processes of the pool. */
  async residentMb(): Promise<number> {
    const sizes = await Promise.all(this.pool.pids.map(residentMb));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async requests(): Promise<RequestCounts> {
    const { status, body } = await this.bed.admin.raw("GET", "/metrics");
    if (status !== 200) throw new Error(`metrics of the API server: ${status}`);
    return readRequestCounts(String(body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
    await this.bed[Symbol.asyncDispose]();
  }

  #poolMs(): number {
    return (this.#pool?.pids ?? []).map(cpuMsOf).reduce((sum, ms) => sum + ms, 0);
  }
}

/** Two replicas behind the address of the Service, with the operator's rights, webhooks and flags. The bed ends them. */
export async function ourPool(bed: PoolBed, quarantineSeconds: number): Promise<Pool> {
  const pids = [await bed.startReplica("one", true), await bed.startReplica("two", true)];
  await bed.createPool("default", { ranges: [RANGE], quarantineSeconds });
  await bed.registerWebhooks();
  await bed.leader();
  const startAnother = async (): Promise<number> => {
    const startMs = performance.now();
    await bed.startReplica("three", true);
    const readyMs = performance.now() - startMs;
    await bed.killReplica("three");
    return readyMs;
  };
  return { pids, startAnother, async [Symbol.asyncDispose]() {} };
}

/** The webhooks are those of ours, at the bench's in-memory pool, also behind a balancer. */
export async function inMemoryPool({ admin, controlPlane }: PoolBed): Promise<Pool> {
  const { authority, kubeconfigText: kubeconfig } = controlPlane;
  const pair = await authority.issue({ commonName: "in-memory", addresses: ["127.0.0.1"], usage: ["server"] });
  const start = async (): Promise<{ child: ChildProcess; port: number }> => {
    const child = fork(join(import.meta.dirname, "in-memory-pool.ts"));
    const order: InMemoryOrder = { kubeconfig, cert: pair.cert, key: pair.key };
    return { child, ...(await askChild<InMemoryReady>(child, { ...order })) };
  };
  const { child, port } = await start();
  const balancer = await Balancer.listen();
  balancer.add(port);
  const url = `https://127.0.0.1:${balancer.port}`;
  const hooks = webhooksAt(macPoolWebhooks(POOL_NAMESPACE, {}), url, authority.certificate);
  await admin.create(RESOURCES.mutatingWebhookConfigurations, hooks as never);
  await eventually("the API server asks the in-memory pool", async () => {
    const probe = machine("probe", NAMESPACE, [{ name: "a" }]);
    return macsOf(await admin.create(KINDS.virtualMachines, probe, { dryRun: true }))[0] !== undefined;
  });
  return {
    pids: [child.pid ?? 0],
    async startAnother() {
      const startMs = performance.now();
      const another = await start();
      another.child.disconnect();
      return performance.now() - startMs;
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await balancer[Symbol.asyncDispose]();
    },
  };
}
