import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import type { MACPool } from "../../../src/api/mac-pool.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import type { Handler } from "../../../src/kube/informer/handler-set.ts";
import { silentLog } from "../../../src/kube/log.ts";
import type { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { PoolStatusController } from "../../../src/mac-pool/controllers/pool-status.ts";
import { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { readPool } from "../../../src/mac-pool/pools/pool-settings.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";

const FIRST = parseMac("02:00:00:00:01:00") ?? (0 as never);

/** Pools and claims in memory; what is written comes back by watch at once. */
class Bed {
  readonly clock = new ManualClock();
  readonly index = new PoolIndex();
  readonly pools = new Map<string, MACPool>();
  readonly written: string[] = [];
  onWritten = (): void => {};
  servingProblem: string | undefined;
  #claims: Handler<unknown> = {};
  #poolHandler: Handler<MACPool> = {};
  #next = FIRST;

  run(signal: AbortSignal): Promise<void> {
    const caches = {
      index: this.index,
      claims: { on: (handler: Handler<unknown>) => this.#followed(() => (this.#claims = handler)) },
      pools: {
        on: (handler: Handler<MACPool>) => this.#followed(() => (this.#poolHandler = handler)),
        get: (name: string) => this.pools.get(name),
      },
      networks: { on: () => () => {} },
      nodeMacs: { on: () => () => {} },
      problemOf: () => undefined,
      whenSynced: async () => {},
    } as unknown as Caches;
    const patch = async (_resource: unknown, { name }: { name: string }, { body }: { body: Partial<MACPool> }) => {
      this.written.push(name);
      this.#set({ ...this.#pool(name), ...body });
      this.onWritten();
    };
    const client = { patch } as unknown as KubeClient;
    const events = { event: () => {} } as unknown as EventRecorder;
    const { clock } = this;
    const metrics = new Registry();
    const adoption = () => undefined;
    const servingProblem = () => this.servingProblem;
    const given = { caches, client, events, adoption, servingProblem };
    return new PoolStatusController({ ...given, clock, log: silentLog, metrics }).run(signal);
  }

  setRange(name: string, last: string): void {
    const generation = (this.pools.get(name)?.metadata.generation ?? 0) + 1;
    const spec = { ranges: [{ start: "02:00:00:00:01:00", end: last }] };
    this.#set({ ...this.pools.get(name), metadata: { name, generation }, spec });
  }

  claim(): void {
    const facts = { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: [], untilMs: 0 };
    this.index.setClaim(this.#next, facts);
    this.#next = (this.#next + 1) as Mac;
    this.#claims.add?.({}, { created: false });
  }

  #set(pool: MACPool): void {
    const name = pool.metadata.name ?? "";
    const old = this.pools.get(name);
    this.pools.set(name, pool);
    this.index.setPool(readPool(pool, undefined).settings);
    if (old === undefined) this.#poolHandler.add?.(pool, { created: false });
    else this.#poolHandler.update?.(pool, old);
  }

  #pool(name: string): MACPool {
    const pool = this.pools.get(name);
    if (pool === undefined) throw new Error(`no pool ${name}`);
    return pool;
  }

  #followed(follow: () => void): () => void {
    follow();
    return () => {};
  }
}

async function running(work: (bed: Bed) => Promise<void>): Promise<void> {
  const bed = new Bed();
  const stop = new AbortController();
  const run = bed.run(stop.signal);
  await work(bed);
  stop.abort();
  await run;
}

describe("the status of a pool", () => {
  it("is written twice a second at most, however fast the claims come", () =>
    running(async (bed) => {
      bed.setRange("default", "02:00:00:00:ff:ff");
      bed.onWritten = () => bed.claim();
      await bed.clock.advance(0);
      await bed.clock.advance(5_000);
      expect(bed.written.length).toBeGreaterThan(5);
      expect(bed.written.length).toBeLessThanOrEqual(11);
    }));

  it("follows a change of the spec at once, also that of another pool that has the same addresses now", () =>
    running(async (bed) => {
      bed.setRange("default", "02:00:00:00:01:ff");
      bed.setRange("tenant", "02:00:00:00:01:0f");
      await bed.clock.advance(0);
      const shared = () => bed.pools.get("default")?.status?.conditions?.find(({ type }) => type === "Overlapping");
      expect(shared()?.message).toContain("tenant");
      bed.setRange("default", "02:00:00:00:01:1f");
      await bed.clock.advance(0);
      expect(bed.pools.get("default")?.status).toMatchObject({ observedGeneration: 2, capacity: 32 });
    }));

  it("comes to rest when nothing changes", () =>
    running(async (bed) => {
      bed.setRange("default", "02:00:00:00:01:ff");
      bed.claim();
      await bed.clock.advance(2_000);
      const count = bed.written.length;
      await bed.clock.advance(60_000);
      expect(bed.written).toHaveLength(count);
    }));

  it("says why the webhooks refuse every caller, and nothing of it when they do not", () =>
    running(async (bed) => {
      const serving = () => bed.pools.get("default")?.status?.conditions?.find(({ type }) => type === "Serving");
      bed.setRange("default", "02:00:00:00:01:ff");
      await bed.clock.advance(0);
      expect(serving()).toBeUndefined();
      bed.servingProblem = "nobody may call";
      bed.claim();
      await bed.clock.advance(1_000);
      expect(serving()).toMatchObject({ status: "False", reason: "NoClientAuthority", message: "nobody may call" });
      bed.servingProblem = undefined;
      bed.claim();
      await bed.clock.advance(1_000);
      expect(serving()).toBeUndefined();
    }));
});
