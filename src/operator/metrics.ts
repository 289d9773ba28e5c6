/** Gauges that existing monitoring reads. Computed from the watches at every scrape. */

import type { Registry } from "prom-client";
import Gauge from "prom-client/lib/gauge.js";
import { MAC_POOL_MANAGER } from "../api/names.ts";
import type { ClusterView } from "./convergence/cluster-view.ts";
import type { OperatorSettings } from "./settings.ts";

export function operatorMetrics(registry: Registry, view: ClusterView, settings: OperatorSettings): void {
  gauge(registry, "kubevirt_cnao_cr_ready", "The NetworkAddonsConfig is available", () => {
    const conditions = view.config()?.status?.conditions ?? [];
    return conditions.some(({ type, status }) => type === "Available" && status === "True");
  });
  gauge(registry, "kubevirt_cnao_cr_kubemacpool_deployed", "The MAC pool is deployed", () => {
    const namespace = settings.operandNamespace;
    const manager = { apiVersion: "apps/v1", kind: "Deployment", namespace, name: MAC_POOL_MANAGER };
    return view.config()?.spec?.kubeMacPool !== undefined && view.live(manager) !== undefined;
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
