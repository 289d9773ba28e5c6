/** The pod webhook on the HTTP server: counts what it decides, and says which pods went without an injection. */

import { Counter, type Registry } from "prom-client";
import { INJECT_RESOURCES_PATH } from "../api/webhook-paths.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { RateLimitedLog } from "../kube/rate-limited-log.ts";
import {
  type AdmissionAnswer,
  type AdmissionRequest,
  admissionHandler,
  type Review,
} from "../kube/server/admission-server.ts";
import { HttpError } from "../kube/server/http-error.ts";
import type { PostRoutes } from "../kube/server/route-server.ts";
import { describePod } from "./pod-review.ts";

export interface InjectionRouteOptions {
  readonly review: Review;
  readonly metrics: Registry;
  readonly log: Log;
  readonly clock?: Clock;
}

const FAILED =
  "there was no answer in time to which resources its networks need. With failurePolicy Ignore the pod was admitted as it is, " +
  "and may be on a node without its networks. Delete it to have it made anew";

export function routeInjection(routes: PostRoutes, options: InjectionRouteOptions): void {
  const { review, metrics, log, clock = systemClock } = options;
  const failures = new RateLimitedLog({ log, clock, level: "warn", about: "pods without an injection" });
  const count = injectionMetrics(metrics);
  const decided = (answer: AdmissionAnswer): AdmissionAnswer => {
    count(decisionOf(answer));
    return answer;
  };
  const failed = (request: AdmissionRequest, err: unknown): never => {
    count("failed");
    failures.add({ pod: describePod(request), err }, FAILED);
    throw err instanceof HttpError ? err : new HttpError(500, "the networks of the pod can't be looked up");
  };
  routes.post(
    INJECT_RESOURCES_PATH,
    admissionHandler((request, signal) => {
      try {
        const answer = review(request, signal);
        return answer instanceof Promise ? answer.then(decided, (error) => failed(request, error)) : decided(answer);
      } catch (error) {
        return failed(request, error);
      }
    }),
  );
}

function decisionOf(answer: AdmissionAnswer): Decision {
  if (!answer.allowed) return "denied";
  return answer.patch?.length ? "injected" : "unchanged";
}

const DECISIONS = ["injected", "unchanged", "denied", "failed"] as const;
type Decision = (typeof DECISIONS)[number];

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
