import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Controller } from "../../../src/kube/informer/controller.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import type { Log } from "../../../src/kube/log.ts";
import { eventually } from "../../support/eventually.ts";
import { ManualClock, settle } from "../support/manual-clock.ts";
import { configMap } from "../support/objects.ts";
import { ScriptedServer } from "../support/scripted-server.ts";

let stop: AbortController;

beforeEach(() => {
  stop = new AbortController();
});

afterEach(() => stop.abort());

describe("reconciling", () => {
  test("a throw is contained and tried again with growing delays; success ends that", async () => {
    const clock = new ManualClock();
    const attempts: number[] = [];
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      clock,
      random: () => 1,
      backoff: { baseMs: 100, maxMs: 1_000 },
      reconcile: async () => {
        attempts.push(clock.monotonicMs());
        if (attempts.length < 4) {
          throw new Error("not yet");
        }
      },
    });
    const running = controller.run(stop.signal);
    controller.enqueue("a");
    for (let round = 0; round < 20; round++) {
      await clock.advance(100);
    }
    const [first = 0] = attempts;
    expect(attempts.map((at) => at - first)).toEqual([0, 100, 300, 700]);
    stop.abort();
    await running;
  });

  test("whatever a reconcile throws, others go on, and each outcome is one structured line", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = (fields: Record<string, unknown>): Log => {
      const write = (first: object | string, message?: string) => {
        lines.push({ ...fields, ...(typeof first === "string" ? { message: first } : { ...first, message }) });
      };
      const child = (more: Record<string, unknown>) => log({ ...fields, ...more });
      return { debug: write, info: write, warn: write, error: write, child };
    };
    const outcomes: Record<string, () => unknown> = {
      good: async () => {},
      later: async () => ({ requeueAfterMs: 60_000 }),
      rejects: async () => Promise.reject(new Error("rejected")),
      throws: () => {
        throw new TypeError("at once, not later");
      },
      odd: () => Promise.reject(undefined),
    };
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      log: log({}),
      backoff: { baseMs: 60_000, maxMs: 60_000 },
      reconcile: (key) => outcomes[key]?.() as Promise<void>,
    });
    const running = controller.run(stop.signal);
    for (const key of Object.keys(outcomes)) {
      controller.enqueue(key);
    }
    await eventually("five outcomes", () => lines.filter((line) => line.result).length === 5);
    stop.abort();
    await running;
    expect(lines.filter((line) => line.key).map(({ controller: name, key, result }) => [name, key, result])).toEqual([
      ["t", "good", "success"],
      ["t", "later", "requeue_after"],
      ["t", "rejects", "error"],
      ["t", "throws", "error"],
      ["t", "odd", "error"],
    ]);
    const rejected = lines.find((line) => line.key === "rejects");
    expect(rejected).toMatchObject({ err: new Error("rejected"), failures: 1, ms: expect.any(Number) });
  });

  test("keys that wait for nothing leave the event loop to others in between", async () => {
    const seen: number[] = [];
    let done = 0;
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      reconcile: async () => {
        if (done++ === 0) setImmediate(() => seen.push(done));
      },
    });
    for (let key = 0; key < 100; key++) controller.enqueue(`${key}`);
    controller.run(stop.signal).catch(() => {});
    await eventually("all keys", () => done === 100);
    expect(seen[0]).toBeLessThan(5);
  });

  test("requeueAfterMs comes again even if nothing changes", async () => {
    const clock = new ManualClock();
    let runs = 0;
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      clock,
      reconcile: async () => {
        runs++;
        return { requeueAfterMs: 1_000 };
      },
    });
    controller.run(stop.signal).catch(() => {});
    controller.enqueueAfter("a", 500);
    await clock.advance(499);
    expect(runs).toBe(0);
    await clock.advance(3_001);
    expect(runs).toBe(4);
  });

  test("several keys at once, the same key never twice", async () => {
    const active = new Set<string>();
    let most = 0;
    let overlaps = 0;
    let finished = 0;
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      concurrency: 3,
      reconcile: async (key) => {
        overlaps += active.has(key) ? 1 : 0;
        active.add(key);
        most = Math.max(most, active.size);
        await settle();
        active.delete(key);
        finished++;
      },
    });
    controller.run(stop.signal).catch(() => {});
    for (let round = 0; round < 10; round++) {
      for (const key of ["a", "b", "c", "d", "e"]) {
        controller.enqueue(key);
      }
      await settle();
    }
    await eventually("all worked off", () => active.size === 0 && finished >= 5);
    expect(most).toBe(3);
    expect(overlaps).toBe(0);
  });

  test("run resolves only when the reconcile under way has ended, which is told by its signal", async () => {
    const events: string[] = [];
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      reconcile: async (_, { signal }) => {
        events.push("begin");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await settle();
        events.push("end");
      },
    });
    const running = controller.run(stop.signal);
    controller.enqueue("a");
    controller.enqueue("b");
    await eventually("begun", () => events.length === 1);
    stop.abort();
    await running;
    expect(events).toEqual(["begin", "end"]);
  });

  test("results are counted under the names of controller-runtime and client-go", async () => {
    const metrics = new Registry();
    const controller = new Controller({
      name: "t",
      metrics,
      backoff: { baseMs: 1, maxMs: 1 },
      reconcile: async (key) => {
        if (key === "bad") {
          stop.abort();
        }
      },
    });
    const other = new Controller({ name: "other", metrics, reconcile: async () => {} });
    other.enqueue("x");
    const running = controller.run(stop.signal);
    controller.enqueue("a");
    controller.enqueue("bad");
    await running;
    const text = await metrics.metrics();
    expect(text).toContain('controller_runtime_reconcile_total{controller="t",result="success"} 2');
    expect(text).toContain('workqueue_adds_total{name="t"} 2');
    expect(text).toContain('workqueue_depth{name="other"} 1');
  });

  test("work that does not end is seen while it goes on", async () => {
    const metrics = new Registry();
    const clock = new ManualClock();
    const stuck = Promise.withResolvers<void>();
    const reconcile = () => stuck.promise;
    const controller = new Controller({ name: "t", metrics, clock, concurrency: 2, reconcile });
    const seconds = async () => {
      const text = await metrics.metrics();
      return ["unfinished_work", "longest_running_processor"].map((name) =>
        Number(new RegExp(`^workqueue_${name}_seconds\\{name="t"\\} (.*)$`, "m").exec(text)?.[1]),
      );
    };
    const running = controller.run(stop.signal);
    controller.enqueue("a");
    await settle();
    await clock.advance(3_000);
    controller.enqueue("b");
    await settle();
    await clock.advance(2_000);
    expect(await seconds()).toEqual([7, 5]);
    stuck.resolve();
    await settle();
    expect(await seconds()).toEqual([0, 0]);
    stop.abort();
    await running;
  });
});

describe("watching", () => {
  test("waits for the informers, then gets the keys of old and new state", async () => {
    await using server = await ScriptedServer.start();
    await using client = new KubeClient({ credentials: server.credentials() });
    const informer = new Informer({
      client,
      resource: RESOURCES.configMaps,
      metrics: new Registry(),
      rules: { wholeList: false },
    });
    const keys: string[] = [];
    const controller = new Controller({
      name: "t",
      metrics: new Registry(),
      reconcile: async (key) => {
        expect(informer.hasSynced).toBe(true);
        keys.push(key);
      },
    });
    controller.watch(informer, (object) => [`owner/${object.data?.value}`]);
    const running = controller.run(stop.signal);
    controller.enqueue("own");
    informer.start(stop.signal);
    const list = await server.next("GET");
    expect(keys).toEqual([]);
    list.list([configMap("a", "5", { data: "red" })], "10");
    const watch = (await server.next("GET")).open();
    await eventually("first keys", () => keys.length === 2);
    watch.event("MODIFIED", configMap("a", "11", { data: "blue" }));
    await eventually("more keys", () => keys.length === 4);
    watch.event("DELETED", configMap("a", "12", { data: "blue" }));
    await eventually("last key", () => keys.length === 5);
    expect(keys).toEqual(["own", "owner/red", "owner/red", "owner/blue", "owner/blue"]);
    stop.abort();
    await running;
  });
});
