/** The webhook of NetworkAttachmentDefinitions on the HTTP server. A defect of the lint never keeps a network out. */

import { Counter, type Registry } from "prom-client";
import type { NadLint } from "../api/nad-lint-setting.ts";
import { LINT_NETWORKS_PATH } from "../api/webhook-paths.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { RateLimitedLog } from "../kube/rate-limited-log.ts";
import { type AdmissionAnswer, type AdmissionRequest, admissionHandler } from "../kube/server/admission-server.ts";
import type { PostRoutes } from "../kube/server/route-server.ts";
import { FINDING_CODES, type FindingCode } from "../nad-lint/finding.ts";
import { describeNad, type NadReviewOptions, nadReview } from "./nad-review.ts";

export interface NadLintRouteOptions extends Omit<NadReviewOptions, "mode" | "onFinding"> {
  readonly mode: NadLint;
  readonly metrics: Registry;
  readonly log: Log;
  readonly clock?: Clock;
}

const FAILED = "the lint failed, and the NetworkAttachmentDefinition was admitted unseen";

/** With `Off` there is no route. */
export function routeNadLint(routes: PostRoutes, options: NadLintRouteOptions): void {
  const { mode, metrics, log, clock = systemClock } = options;
  if (mode === "Off") return;
  const count = nadLintMetrics(metrics);
  const failed = new RateLimitedLog({
    log,
    clock,
    level: "warn",
    about: "NetworkAttachmentDefinitions that were not looked at",
  });
  const review = nadReview({ ...options, mode, onFinding: ({ code }) => count.found(code) });
  const reviewAnyway = (request: AdmissionRequest): AdmissionAnswer => {
    try {
      return review(request);
    } catch (err) {
      count.failed();
      failed.add({ network: describeNad(request), err }, FAILED);
      return { allowed: true };
    }
  };
  routes.post(LINT_NETWORKS_PATH, admissionHandler(reviewAnyway));
}

interface NadLintMetrics {
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
