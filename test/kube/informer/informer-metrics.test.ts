import PromRegistry from "prom-client/lib/registry.js";
import { expect, test } from "vitest";
import { informerMetrics } from "../../../src/kube/informer/informer-metrics.ts";
import { ManualClock } from "../support/manual-clock.ts";

test("informers of one registry share the metrics, and staleness is the time since anything was delivered", async () => {
  const registry = new PromRegistry();
  const clock = new ManualClock();
  const pods = informerMetrics(registry, "pods", clock);
  const nodes = informerMetrics(registry, "nodes", clock);
  pods.listed();
  pods.size(3);
  nodes.listed();
  await clock.advance(5_000);
  nodes.watched("BOOKMARK");
  nodes.failed("watch");
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
