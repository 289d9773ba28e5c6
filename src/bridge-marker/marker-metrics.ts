import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import type { BridgeTable } from "./bridge-table.ts";

/** The marker's metrics. */
export interface MarkerMetrics {
  patched(result: "success" | "error"): void;
  monitorStarted(): void;
}

export function markerMetrics(registry: Registry, bridges: BridgeTable): MarkerMetrics {
  const registers = [registry];
  new Gauge({
    name: "bridge_marker_bridges",
    help: "Linux bridges on this node.",
    registers,
    collect() {
      this.set(bridges.names().length);
    },
  });
  const patches = new Counter({
    name: "bridge_marker_patches_total",
    help: "Patches of the node's status, by result.",
    labelNames: ["result"] as const,
    registers,
  });
  const lastSuccess = new Gauge({
    name: "bridge_marker_last_patch_timestamp_seconds",
    help: "When the node's status was last patched, seconds since the epoch.",
    registers,
  });
  const starts = new Counter({
    name: "bridge_marker_link_monitor_starts_total",
    help: "Starts of the link monitor. More than one: it ended and was restarted.",
    registers,
  });
  return {
    patched(result) {
      patches.inc({ result });
      if (result === "success") lastSuccess.setToCurrentTime();
    },
    monitorStarted: () => starts.inc(),
  };
}
