import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, ConnectionError } from "../../src/kube/client/api-error.ts";
import type { Lease } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Resource } from "../../src/kube/client/resource.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { silentLog } from "../../src/kube/log.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { Operator } from "../../src/operator/operator.ts";
import { settle } from "../kube/support/manual-clock.ts";
import { eventually } from "../support/eventually.ts";

let stop = new AbortController();
beforeEach(() => {
  stop = new AbortController();
});
afterEach(() => stop.abort());

/** An API server whose lists are empty. Another replica holds the lease, or nobody. */
class EmptyCluster {
  isListing = true;
  holder = "other";
  leaseVersion: number | undefined = 100;
  /** What was listed, by kind. */
  readonly lists = new Map<string, number>();
  readonly restored: string[] = [];

  readonly client = {
    restored: (what: string) => this.restored.push(what),
    get: async (): Promise<Lease> => {
      if (this.leaseVersion === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: "no lease" });
      const metadata = { resourceVersion: String(this.leaseVersion) };
      return { metadata, spec: { holderIdentity: this.holder, renewTime: String(this.leaseVersion) } } as Lease;
    },
    update: async (_: Resource, lease: Lease) => {
      if (this.leaseVersion === undefined) throw new ConnectionError("refused", { written: false });
      return lease;
    },
    wholeList: async ({ kind }: Resource) => {
      if (!this.isListing) throw new ConnectionError("refused", { written: false });
      this.lists.set(kind, (this.lists.get(kind) ?? 0) + 1);
      return { items: [], resourceVersion: "100" };
    },
    async *watchBatches(_: Resource, { signal }: { signal: AbortSignal }) {
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      yield [];
    },
  } as unknown as KubeClient;
}

function start(cluster: EmptyCluster) {
  const calls: string[] = [];
  const operator = new Operator({
    client: cluster.client,
    settings: DEFAULT_SETTINGS,
    identity: "operator-1",
    log: silentLog,
    clock: systemClock,
    metrics: new Registry(),
    alsoWatching: [{ retryNow: (relist) => calls.push(relist ? "relist" : "retry") }],
  });
  const running = operator.run(stop.signal);
  running.catch(() => {});
  return { operator, calls, running };
}

test("a restore of etcd ends the operator, and another one lists what is there", async () => {
  const cluster = new EmptyCluster();
  const first = start(cluster);
  await eventually("the caches are synced", () => first.operator.hasSynced);
  cluster.leaseVersion = 50;
  await expect.poll(() => cluster.restored.length).toBeGreaterThan(0);
  expect(cluster.restored[0]).toMatch(/^Lease /);
  stop.abort();
  await first.running;
  stop = new AbortController();
  const [told, lists] = [cluster.restored.length, new Map(cluster.lists)];
  const second = start(cluster);
  await eventually("the caches are synced", () => second.operator.hasSynced);
  expect([...lists].every(([kind, count]) => (cluster.lists.get(kind) ?? 0) >= 2 * count)).toBe(true);
  expect(cluster.restored).toHaveLength(told);
});

test("when the lease is gone everything is listed anew: what is applied, other operators, and what else the process watches", async () => {
  const cluster = new EmptyCluster();
  const { operator, calls } = start(cluster);
  await eventually("the caches are synced", () => operator.hasSynced);
  const before = new Map(cluster.lists);
  cluster.leaseVersion = undefined;
  await eventually("it is noticed", () => calls.includes("relist"));
  await eventually("every kind is listed twice", () =>
    [...before].every(([kind, count]) => (cluster.lists.get(kind) ?? 0) >= 2 * count),
  );
  expect(before.get("Lease")).toBe(2);
});

test("a leader that waits for its first lists stops at once when it is told to", async () => {
  const cluster = new EmptyCluster();
  cluster.isListing = false;
  cluster.holder = "";
  const lead = vi.spyOn(cluster.client, "update");
  const { operator, running } = start(cluster);
  await eventually("it leads", () => lead.mock.calls.length > 0);
  await settle();
  expect(operator.hasSynced).toBe(false);
  stop.abort();
  await running;
});
