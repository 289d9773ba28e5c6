import { expect, test } from "vitest";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { Lease } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { LeaderElector } from "../../../src/kube/leader/leader-election.ts";
import { eventually } from "../../support/eventually.ts";

const TIMES = { leaseDurationMs: 86_400_000, renewDeadlineMs: 43_200_000, retryPeriodMs: 5 };

test("a lease that is older than it was tells of a restore, one that is gone has everything listed, and a newer one nothing", async () => {
  let version: number | undefined = 9;
  let reads = 0;
  const told: string[] = [];
  const client = {
    restored: (what: string) => told.push(what),
    get: async (): Promise<Lease> => {
      reads += 1;
      if (version === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: "no lease" });
      return { metadata: { resourceVersion: String(version) }, spec: { holderIdentity: "b" } } as Lease;
    },
    update: async (_: unknown, lease: Lease) => {
      version ??= 3;
      return { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  const elector = new LeaderElector({
    client,
    namespace: "default",
    name: "lease",
    identity: "a",
    ...TIMES,
    random: () => 0,
    onReachable: (relist) => told.push(`relist: ${relist}`),
  });
  const running = elector.run(
    stop.signal,
    (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
  );
  const seen = async (now: number | undefined): Promise<readonly string[]> => {
    version = now;
    const from = reads;
    await eventually("it was read twice", () => reads >= from + 2);
    return told;
  };
  expect(await seen(9)).toEqual([]);
  expect(await seen(10)).toEqual([]);
  expect(await seen(7)).toEqual(["Lease default/lease"]);
  expect(await seen(8)).toEqual(["Lease default/lease"]);
  version = undefined;
  await eventually("it leads", () => elector.isLeader);
  await expect.poll(() => told).toEqual(["Lease default/lease", "relist: true"]);
  stop.abort();
  await running;
});

test("everything is listed when the lease was not read for longer than it lasts, as by a process that was stopped", async () => {
  let nowMs = 0;
  const told: boolean[] = [];
  const stop = new AbortController();
  const wake: (() => void)[] = [];
  const client = {
    get: async () => ({ metadata: { resourceVersion: "9" }, spec: { holderIdentity: "b", renewTime: `${nowMs}` } }),
  } as unknown as KubeClient;
  const elector = new LeaderElector({
    client,
    namespace: "default",
    name: "lease",
    identity: "a",
    clock: {
      now: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: () => new Promise((resolve) => wake.push(resolve)),
      after: (_ms, callback) => {
        callback();
        return () => {};
      },
    },
    onReachable: (relist) => told.push(relist),
  });
  const running = elector.run(stop.signal, () => Promise.resolve());
  const readAfter = async (ms: number): Promise<readonly boolean[]> => {
    await eventually("it sleeps", () => wake.length === 1);
    nowMs += ms;
    wake.shift()?.();
    await eventually("it sleeps again", () => wake.length === 1);
    return told;
  };
  expect(await readAfter(2_000)).toEqual([]);
  expect(await readAfter(15_000)).toEqual([]);
  expect(await readAfter(15_001)).toEqual([true]);
  expect(await readAfter(2_000)).toEqual([true]);
  stop.abort();
  wake.shift()?.();
  await running;
});
