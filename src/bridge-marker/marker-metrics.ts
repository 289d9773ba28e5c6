import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { SKIP_REASONS } from "./bridge-resources.ts";
import type { NodeLinks } from "./node-links.ts";
import type { NodePublisher, PublisherObserver } from "./node-publisher.ts";

const LAG_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** The marker's metrics. */
export interface MarkerMetrics extends PublisherObserver {
  monitorStarted(): void;
  /** Shows how long changes wait from now on. */
  watchPending(publisher: Pick<NodePublisher, "pendingMs">): void;
}

export function markerMetrics(registry: Registry, links: NodeLinks): MarkerMetrics {
  const registers = [registry];
  new Gauge({
    name: "bridge_marker_bridges",
    help: "Linux bridges of this node that are published.",
    registers,
    collect() {
      this.set(links.resources().keys.size);
    },
  });
  new Gauge({
    name: "bridge_marker_skipped_bridges",
    help: "Linux bridges of this node that are not published, by reason.",
    labelNames: ["reason"] as const,
    registers,
    collect() {
      const { skipped } = links.resources();
      for (const reason of SKIP_REASONS) this.set({ reason }, skipped.filter((one) => one.reason === reason).length);
    },
  });
  new Gauge({
    name: "bridge_marker_host_addresses",
    help: "MAC addresses of this node's physical interfaces and bonds, reported to MAC pools or omitted because there are too many.",
    labelNames: ["state"] as const,
    registers,
    collect() {
      const { addresses, omitted } = links.hostAddresses();
      this.set({ state: "reported" }, addresses.length);
      this.set({ state: "omitted" }, omitted);
    },
  });
  const patches = new Counter({
    name: "bridge_marker_patches_total",
    help: "Patches of the node's status, by result.",
    labelNames: ["result"] as const,
    registers,
  });
  const lastPatch = new Gauge({
    name: "bridge_marker_last_patch_timestamp_seconds",
    help: "When the node's status was last patched, seconds since the epoch.",
    registers,
  });
  const lastSuccess = new Gauge({
    name: "bridge_marker_last_success_timestamp_seconds",
    help: "When the node's resources were last made or found right, seconds since the epoch.",
    registers,
  });
  const lag = new Histogram({
    name: "bridge_marker_event_lag_seconds",
    help: "From a link event to the answer to the patch that publishes it.",
    buckets: LAG_BUCKETS_SECONDS,
    registers,
  });
  const starts = new Counter({
    name: "bridge_marker_link_monitor_starts_total",
    help: "Starts of the link monitor. More than one: it ended or hung, and was restarted.",
    registers,
  });
  return {
    patched(result) {
      patches.inc({ result });
      if (result === "success") lastPatch.setToCurrentTime();
    },
    published(lagMs) {
      lastSuccess.setToCurrentTime();
      if (lagMs !== undefined) lag.observe(lagMs / 1000);
    },
    monitorStarted: () => starts.inc(),
    watchPending(publisher) {
      new Gauge({
        name: "bridge_marker_pending_seconds",
        help: "How long a change of the bridges has waited to be published; 0 if none does.",
        registers,
        collect() {
          this.set(publisher.pendingMs / 1000);
        },
      });
    },
  };
}
