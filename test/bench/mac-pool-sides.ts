/**
 * Clusters that differ in their MAC pool alone: none, and ours as the operator renders it. Each has a control plane of its own,
 * so that they can be asked in turns.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { cpuMsOf, megabytesOf } from "../support/process-usage.ts";
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

export class Side implements AsyncDisposable {
  readonly name: string;
  readonly harness: PoolFixture;
  readonly controlPlane: ControlPlane;
  /** Of the pool's processes. */
  readonly #pids: readonly number[];

  private constructor(name: string, harness: PoolFixture, controlPlane: ControlPlane, pids: readonly number[]) {
    this.name = name;
    this.harness = harness;
    this.controlPlane = controlPlane;
    this.#pids = pids;
  }

  static async start(
    name: string,
    startPool: (harness: PoolFixture) => Promise<readonly number[]> = async () => [],
  ): Promise<Side> {
    const controlPlane = await startControlPlane();
    const harness = await PoolFixture.start({ controlPlane });
    try {
      await harness.admin.create(RESOURCES.namespaces, { metadata: { name: NAMESPACE } });
      return new Side(name, harness, controlPlane, await startPool(harness));
    } catch (error) {
      await harness[Symbol.asyncDispose]();
      throw error;
    }
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
    if (this.#pids.length === 0) return;
    const rests = async (): Promise<boolean> => {
      const beforeMs = this.#poolMs();
      await sleep(WINDOW_MS);
      return this.#poolMs() - beforeMs < AT_REST_MS;
    };
    await eventually(`${this.name} at rest`, rests, { limitMs: CATCH_UP_LIMIT_MS });
  }

  /** Of all processes of the pool. */
  residentMb(): number {
    return this.#pids.map((pid) => megabytesOf(pid)).reduce((sum, size) => sum + size, 0);
  }

  /** Milliseconds until one more process of the pool, which ends then, is ready. */
  async startAnother(): Promise<number> {
    const startMs = performance.now();
    await this.harness.startReplica("another", true);
    const readyMs = performance.now() - startMs;
    await this.harness.killReplica("another");
    return readyMs;
  }

  async requests(): Promise<RequestCounts> {
    const { status, body } = await this.harness.admin.raw("GET", "/metrics");
    if (status !== 200) throw new Error(`metrics of the API server: ${status}`);
    return readRequestCounts(String(body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.harness[Symbol.asyncDispose]();
  }

  #poolMs(): number {
    return this.#pids.map(cpuMsOf).reduce((sum, ms) => sum + ms, 0);
  }
}

/** Two replicas behind the address of the Service, with the operator's rights, webhooks and flags. The harness ends them. */
export async function ourPool(harness: PoolFixture, quarantineSeconds: number): Promise<readonly number[]> {
  const pids = [await harness.startReplica("one", true), await harness.startReplica("two", true)];
  await harness.createPool("default", { ranges: [RANGE], quarantineSeconds });
  await harness.registerWebhooks();
  await harness.leader();
  return pids;
}
