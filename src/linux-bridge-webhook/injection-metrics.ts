import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";

const DECISIONS = ["injected", "unchanged", "denied", "failed"] as const;
export type Decision = (typeof DECISIONS)[number];

/** Counts pods by decision, from zero on. */
export function injectionMetrics(registry: Registry): (decision: Decision) => void {
  const pods = new Counter({
    name: "linux_bridge_webhook_pods_total",
    help: "Pods with networks by decision: injected, unchanged (nothing to add), denied, failed (no answer in time: the failurePolicy decided).",
    labelNames: ["decision"],
    registers: [registry],
  });
  for (const decision of DECISIONS) pods.inc({ decision }, 0);
  return (decision) => pods.inc({ decision });
}
