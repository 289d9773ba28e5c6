import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import { FINDING_CODES, type FindingCode } from "../nad-lint/finding.ts";

export interface NadLintMetrics {
  found(code: FindingCode): void;
  failed(): void;
}

/** Counts findings by code, from zero on. */
export function nadLintMetrics(registry: Registry): NadLintMetrics {
  const findings = new Counter({
    name: "linux_bridge_webhook_nad_findings_total",
    help: "Mistakes in NetworkAttachmentDefinitions that users were warned of or refused for, by code.",
    labelNames: ["code"],
    registers: [registry],
  });
  for (const code of FINDING_CODES) findings.inc({ code }, 0);
  const failures = new Counter({
    name: "linux_bridge_webhook_nad_lint_failures_total",
    help: "NetworkAttachmentDefinitions that were admitted unseen, because the lint failed.",
    registers: [registry],
  });
  return { found: (code) => findings.inc({ code }), failed: () => failures.inc() };
}
