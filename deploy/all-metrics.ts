/** The metrics of all processes, as their registries describe them. The reference and tests of rules and dashboards read them here. */
import { Registry } from "prom-client";
import { EVERY_BRIDGE } from "../src/bridge-marker/bridge-resources.ts";
import { markerMetrics } from "../src/bridge-marker/marker-metrics.ts";
import { NodeLinks } from "../src/bridge-marker/node-links.ts";
import { certificateMetrics } from "../src/certs/cert-manager.ts";
import { KubeClient } from "../src/kube/client/client.ts";
import { RESOURCES } from "../src/kube/client/resource.ts";
import { Controller } from "../src/kube/informer/controller.ts";
import { Informer } from "../src/kube/informer/informer.ts";
import { silentLog } from "../src/kube/log.ts";
import { agentMetrics } from "../src/linux-bridge/agent/agent-metrics.ts";
import { installerMetrics } from "../src/linux-bridge/installer/installer-metrics.ts";
import { injectionMetrics } from "../src/linux-bridge-webhook/injection-route.ts";
import { nadLintMetrics } from "../src/linux-bridge-webhook/nad-lint-route.ts";
import { PoolMetrics } from "../src/mac-pool/metrics.ts";
import { PoolIndex } from "../src/mac-pool/pools/pool-index.ts";
import { DEFAULT_SETTINGS } from "../src/operator/config/settings.ts";
import { Operator } from "../src/operator/operator.ts";

export interface DescribedMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** Starts nothing and reaches nobody. */
export function allMetrics(): DescribedMetric[] {
  const metrics = new Registry();
  const client = new KubeClient({ credentials: { server: "http://127.0.0.1:1" } as never, metrics });
  new Operator({ client, settings: DEFAULT_SETTINGS, identity: "a", log: silentLog, metrics });
  new PoolMetrics(
    metrics,
    new PoolIndex(),
    () => undefined,
    () => false,
  );
  certificateMetrics(metrics, () => []);
  markerMetrics(metrics, new NodeLinks(EVERY_BRIDGE)).watchPending({ pendingMs: 0 });
  agentMetrics(metrics, { recordDirectory: "/nowhere", netnsDirectories: [], listLinks: async () => [] });
  injectionMetrics(metrics);
  nadLintMetrics(metrics);
  installerMetrics(metrics, { states: [], contests: 0 });
  new Controller({ name: "any", log: silentLog, metrics, reconcile: async () => ({}) });
  new Informer({ client, resource: RESOURCES.pods, metrics });
  return metrics.getMetricsAsArray() as unknown as DescribedMetric[];
}
