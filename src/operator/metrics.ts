/** Gauges of the configuration, computed from the watches at every scrape. Existing monitoring reads the first two. */

import { Gauge, type Registry } from "prom-client";
import { MAC_POOL_MANAGER } from "../api/names.ts";
import type { OperatorSettings } from "./config/settings.ts";
import type { ClusterView } from "./watch/cluster-view.ts";

export function operatorMetrics(registry: Registry, view: ClusterView, settings: OperatorSettings): void {
  gauge(registry, "kubevirt_cnao_cr_ready", "The NetworkAddonsConfig is available", () => {
    const { metadata, status } = view.config() ?? {};
    if (metadata?.deletionTimestamp !== undefined) return false;
    return (status?.conditions ?? []).some(
      (condition) => condition.type === "Available" && condition.status === "True",
    );
  });
  gauge(registry, "kubevirt_cnao_cr_kubemacpool_deployed", "The MAC pool is deployed", () => {
    const namespace = settings.operandNamespace;
    const manager = { apiVersion: "apps/v1", kind: "Deployment", namespace, name: MAC_POOL_MANAGER };
    return view.config()?.spec?.kubeMacPool !== undefined && view.live(manager) !== undefined;
  });
  componentGauge(registry, view);
}

/** Of each component that the status names. */
function componentGauge(registry: Registry, view: ClusterView): void {
  new Gauge({
    name: "kubevirt_cnao_component_available",
    help: "Whether a component of the NetworkAddonsConfig is available.",
    labelNames: ["component"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, phase } of view.config()?.status?.components ?? []) {
        this.set({ component: name }, phase === "Available" ? 1 : 0);
      }
    },
  });
}

function gauge(registry: Registry, name: string, help: string, holds: () => boolean): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(holds() ? 1 : 0);
    },
  });
}
