/** The metrics of all processes, and those that a PromQL query asks for. */
import { allMetrics } from "../../../deploy/all-metrics.ts";

/** Of Prometheus itself, and of API servers. */
export const OTHERS = [
  "up",
  "apiserver_admission_webhook_rejection_count",
  "apiserver_admission_webhook_fail_open_count",
];
const WORDS = ["and", "or", "unless", "by", "offset"];

/** Names of the metrics that a query asks for. */
export function metricsOf(query: string): string[] {
  const bare = query
    .replace(/\{[^}]*\}/g, "")
    .replace(/\bby \([^)]*\)/g, "")
    .replace(/\[[^\]]*\]|\boffset \w+/g, "");
  return [...bare.matchAll(/[a-z_:]+[a-z0-9_:]*(?!\s*\()\b/gi)]
    .map(([name]) => name)
    .filter((name) => !WORDS.includes(name) && !new RegExp(`\\b${name}\\s*\\(`).test(bare));
}

/** Names of all metrics of all processes. */
export function metricNames(): string[] {
  return allMetrics().map(({ name }) => name);
}
