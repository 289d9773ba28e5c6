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
class Fixture {
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

  setStatus(name: string, status: NonNullable<MACPool["status"]>): void {
    this.#set({ ...this.#pool(name), status });
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

async function running(work: (fixture: Fixture) => Promise<void>): Promise<void> {
  const fixture = new Fixture();
  const stop = new AbortController();
  const run = fixture.run(stop.signal);
  await work(fixture);
  stop.abort();
  await run;
}

describe("the status of a pool", () => {
  it("is written twice a second at most, however fast the claims come", () =>
    running(async (fixture) => {
      fixture.setRange("default", "02:00:00:00:ff:ff");
      fixture.onWritten = () => fixture.claim();
      await fixture.clock.advance(0);
      await fixture.clock.advance(5_000);
      expect(fixture.written.length).toBeGreaterThan(5);
      expect(fixture.written.length).toBeLessThanOrEqual(11);
    }));

  it("follows a change of the spec at once, also that of another pool that has the same addresses now", () =>
    running(async (fixture) => {
      fixture.setRange("default", "02:00:00:00:01:ff");
      fixture.setRange("tenant", "02:00:00:00:01:0f");
      await fixture.clock.advance(0);
      const shared = () => fixture.pools.get("default")?.status?.conditions?.find(({ type }) => type === "Overlapping");
      expect(shared()?.message).toContain("tenant");
      fixture.setRange("default", "02:00:00:00:01:1f");
      await fixture.clock.advance(0);
      expect(fixture.pools.get("default")?.status).toMatchObject({ observedGeneration: 2, capacity: 32 });
    }));

  it("tells how many addresses were in use on each day of the last month on which that changed", () =>
    running(async (fixture) => {
      const history = () => fixture.pools.get("default")?.status?.history ?? [];
      const dayLater = (days: number) => fixture.clock.advance(days * 86_400_000);
      fixture.setRange("default", "02:00:00:00:01:ff");
      await fixture.clock.advance(0);
      const first = new Date(fixture.clock.now()).toISOString().slice(0, 10);
      expect(history()).toEqual([{ date: first, used: 0 }]);
      fixture.claim();
      await fixture.clock.advance(1_000);
      expect(history()).toEqual([{ date: first, used: 1 }]);
      await dayLater(3);
      fixture.claim();
      await fixture.clock.advance(1_000);
      const third = new Date(fixture.clock.now()).toISOString().slice(0, 10);
      expect(history()).toEqual([
        { date: first, used: 1 },
        { date: third, used: 2 },
      ]);
      for (let day = 0; day < 40; day++) {
        await dayLater(1);
        fixture.claim();
        await fixture.clock.advance(1_000);
      }
      expect(history().map(({ used }) => used)).toEqual(Array.from({ length: 31 }, (_, index) => 12 + index));
    }));

  it("goes on with the last day of its history where the clock went back", () =>
    running(async (fixture) => {
      fixture.setRange("default", "02:00:00:00:01:ff");
      const history = [{ date: "2999-01-01", used: 7 }];
      fixture.setStatus("default", { history });
      fixture.claim();
      await fixture.clock.advance(1_000);
      expect(fixture.pools.get("default")?.status?.history).toEqual([{ date: "2999-01-01", used: 1 }]);
    }));

  it("comes to rest when nothing changes", () =>
    running(async (fixture) => {
      fixture.setRange("default", "02:00:00:00:01:ff");
      fixture.claim();
      await fixture.clock.advance(2_000);
      const count = fixture.written.length;
      await fixture.clock.advance(60_000);
      expect(fixture.written).toHaveLength(count);
    }));

  it("says why the webhooks refuse every caller, and nothing of it when they do not", () =>
    running(async (fixture) => {
      const serving = () => fixture.pools.get("default")?.status?.conditions?.find(({ type }) => type === "Serving");
      fixture.setRange("default", "02:00:00:00:01:ff");
      await fixture.clock.advance(0);
      expect(serving()).toBeUndefined();
      fixture.servingProblem = "nobody may call";
      fixture.claim();
      await fixture.clock.advance(1_000);
      expect(serving()).toMatchObject({ status: "False", reason: "NoClientAuthority", message: "nobody may call" });
      fixture.servingProblem = undefined;
      fixture.claim();
      await fixture.clock.advance(1_000);
      expect(serving()).toBeUndefined();
    }));
});
