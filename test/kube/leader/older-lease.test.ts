import { expect, test } from "vitest";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { Lease } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { LeaderElector } from "../../../src/kube/leader/leader-election.ts";
import { eventually } from "../../support/eventually.ts";

const TIMES = { leaseDurationMs: 86_400_000, renewDeadlineMs: 43_200_000, retryPeriodMs: 5 };

test("a replica is told when the lease is older than it has seen it, or gone, and not when it is newer", async () => {
  let version: number | undefined = 9;
  let reads = 0;
  let older = 0;
  const client = {
    get: async (): Promise<Lease> => {
      reads += 1;
      if (version === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: "no lease" });
      return { metadata: { resourceVersion: String(version) }, spec: { holderIdentity: "b" } } as Lease;
    },
    update: async (_: unknown, lease: Lease) => ({ ...lease, metadata: { resourceVersion: "3", ...lease.metadata } }),
  } as unknown as KubeClient;
  const stop = new AbortController();
  const elector = new LeaderElector({
    client,
    namespace: "default",
    name: "lease",
    identity: "a",
    ...TIMES,
    onOlder: () => {
      older += 1;
    },
  });
  const running = elector.run(
    stop.signal,
    (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
  );
  const seen = async (now: number | undefined): Promise<number> => {
    version = now;
    const from = reads;
    await eventually("it was read twice", () => reads >= from + 2);
    return older;
  };
  expect(await seen(9)).toBe(0);
  expect(await seen(10)).toBe(0);
  expect(await seen(7)).toBe(1);
  expect(await seen(8)).toBe(1);
  version = undefined;
  await eventually("it leads", () => elector.isLeader);
  expect(older).toBe(2);
  stop.abort();
  await running;
});

test("a replica is told when it has not read the lease for longer than the lease lasts, as after it was stopped", async () => {
  let nowMs = 0;
  let older = 0;
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
      after: () => () => {},
    },
    onOlder: () => {
      older += 1;
    },
  });
  const running = elector.run(stop.signal, () => Promise.resolve());
  const readAfter = async (ms: number): Promise<number> => {
    await eventually("it sleeps", () => wake.length === 1);
    nowMs += ms;
    wake.shift()?.();
    await eventually("it sleeps again", () => wake.length === 1);
    return older;
  };
  expect(await readAfter(2_000)).toBe(0);
  expect(await readAfter(15_000)).toBe(0);
  expect(await readAfter(15_001)).toBe(1);
  expect(await readAfter(2_000)).toBe(1);
  stop.abort();
  wake.shift()?.();
  await running;
});
