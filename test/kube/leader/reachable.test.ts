import { expect, test } from "vitest";
import { ConnectionError } from "../../../src/kube/client/api-error.ts";
import type { Lease } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { LeaderElector } from "../../../src/kube/leader/leader-election.ts";
import { ManualClock } from "../support/manual-clock.ts";

const RETRY_MS = 2_400;

test("a replica is told once that the API server is back after reads of the lease failed, and not before", async () => {
  const clock = new ManualClock();
  let isAway = false;
  let told = 0;
  const client = {
    get: async (): Promise<Lease> => {
      if (isAway) throw new ConnectionError("refused", { written: false });
      return { metadata: { resourceVersion: "9" }, spec: { holderIdentity: "b" } } as Lease;
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  const elector = new LeaderElector({
    client,
    namespace: "default",
    name: "lease",
    identity: "a",
    clock,
    random: () => 0.5,
    leaseDurationMs: 86_400_000,
    renewDeadlineMs: 43_200_000,
    retryPeriodMs: 2_000,
    onReachable: () => {
      told += 1;
    },
  });
  const running = elector.run(stop.signal, () => Promise.resolve());
  await clock.advance(2 * RETRY_MS);
  isAway = true;
  await clock.advance(4 * RETRY_MS);
  expect(told).toBe(0);
  isAway = false;
  await clock.advance(2 * RETRY_MS);
  expect(told).toBe(1);
  await clock.advance(4 * RETRY_MS);
  expect(told).toBe(1);
  stop.abort();
  await running;
});
