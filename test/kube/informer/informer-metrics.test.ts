import { Registry } from "prom-client";
import { beforeEach, expect, test } from "vitest";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import { informerMetrics } from "../../../src/kube/informer/informer-metrics.ts";
import { ManualClock } from "../support/manual-clock.ts";

let registry: Registry;
let clock: ManualClock;

beforeEach(() => {
  registry = new Registry();
  clock = new ManualClock();
});

function running(resource: string) {
  const metrics = informerMetrics(registry, resource, clock);
  metrics.started();
  return metrics;
}

async function lines(prefix: string): Promise<string[]> {
  return (await registry.metrics()).split("\n").filter((line) => line.startsWith(prefix));
}

test("informers of one registry share the metrics, and staleness is the time since anything was delivered", async () => {
  const pods = running("pods");
  const nodes = running("nodes");
  pods.listed();
  pods.size(3);
  nodes.listed();
  await clock.advance(5_000);
  nodes.watched("BOOKMARK");
  nodes.failed("watch", new Error("reset"));
  nodes.handlerFailed();
  await clock.advance(2_000);
  const text = await registry.metrics();
  for (const line of [
    'informer_staleness_seconds{resource="pods"} 7',
    'informer_staleness_seconds{resource="nodes"} 2',
    'informer_objects{resource="pods"} 3',
    'informer_watch_events_total{resource="nodes",type="BOOKMARK"} 1',
    'informer_failures_total{resource="nodes",doing="watch"} 1',
    'informer_handler_failures_total{resource="nodes"} 1',
  ]) {
    expect(text).toContain(line);
  }
});

test("of several informers of one resource the objects are added up and the longest silence counts", async () => {
  const [one, other] = [running("secrets"), running("secrets")];
  one.size(2);
  other.size(1);
  await clock.advance(4_000);
  other.listed();
  await clock.advance(1_000);
  expect(await lines("informer_objects{")).toEqual(['informer_objects{resource="secrets"} 3']);
  expect(await lines("informer_staleness_seconds{")).toEqual(['informer_staleness_seconds{resource="secrets"} 5']);
  one.ended();
  expect(await lines("informer_objects{")).toEqual(['informer_objects{resource="secrets"} 1']);
  expect(await lines("informer_staleness_seconds{")).toEqual(['informer_staleness_seconds{resource="secrets"} 1']);
});

test("an informer that was never answered is stale; one whose kind may be absent is not, when it is told so", async () => {
  running("pods");
  const absent = running("virtualmachines");
  await clock.advance(60_000);
  absent.absent();
  expect(await lines("informer_staleness_seconds{")).toEqual([
    'informer_staleness_seconds{resource="pods"} 60',
    'informer_staleness_seconds{resource="virtualmachines"} 0',
  ]);
});

test("a server is silent from its last answer on, whatever that was; stale is what it has told nothing about", async () => {
  const nodes = informerMetrics(registry, "nodes", clock);
  await clock.advance(9_000);
  expect(nodes.silentMs()).toBe(0);
  nodes.started();
  await clock.advance(1_000);
  expect(nodes.silentMs()).toBe(1_000);
  for (const [status, silentMs] of [
    [403, 0],
    [503, 1_000],
  ] as const) {
    await clock.advance(1_000);
    nodes.answered();
    await clock.advance(1_000);
    nodes.failed("list", new ApiError({ status, reason: "", message: "" }));
    expect(nodes.silentMs()).toBe(silentMs);
  }
  expect(await lines("informer_staleness_seconds{")).toEqual(['informer_staleness_seconds{resource="nodes"} 5']);
  nodes.watched("BOOKMARK");
  expect(nodes.silentMs()).toBe(0);
  nodes.ended();
  expect(nodes.silentMs()).toBe(0);
});
