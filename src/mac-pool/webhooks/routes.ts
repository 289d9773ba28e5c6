import { type AdmissionRequest, admissionHandler } from "../../kube/admission/admission-server.ts";
import type { Clock } from "../../kube/clock.ts";
import type { HttpServer } from "../../kube/http/server.ts";
import { describeParty } from "../core/party.ts";
import type { PoolMetrics } from "../metrics.ts";
import { type AdmissionParts, type Decision, partyOfRequest } from "./decision.ts";
import { reviewGuest } from "./guest-review.ts";
import { reviewPod } from "./pod-review.ts";

/** Paths that the webhook configuration names. */
export const WEBHOOK_PATHS = {
  pods: "/mutate-pods",
  virtualMachines: "/mutate-virtualmachines",
  instances: "/mutate-virtualmachineinstances",
} as const;

type ReviewObject = (request: AdmissionRequest, parts: AdmissionParts, signal: AbortSignal) => Promise<Decision>;

const REVIEWS = [
  { kind: "Pod", path: WEBHOOK_PATHS.pods, review: reviewPod },
  {
    kind: "VirtualMachine",
    path: WEBHOOK_PATHS.virtualMachines,
    review: (request, parts, signal) => reviewGuest("VirtualMachine", request, parts, signal),
  },
  {
    kind: "VirtualMachineInstance",
    path: WEBHOOK_PATHS.instances,
    review: (request, parts, signal) => reviewGuest("VirtualMachineInstance", request, parts, signal),
  },
] as const satisfies readonly { kind: string; path: string; review: ReviewObject }[];

/** Serves the admission webhooks, counts what they decide and logs each refusal. */
export function routeWebhooks(server: HttpServer, parts: AdmissionParts, metrics: PoolMetrics, clock: Clock): void {
  for (const { kind, path, review } of REVIEWS) {
    const handler = admissionHandler(async (request, signal) => {
      const startMs = clock.monotonicMs();
      const { answer, refusal } = await review(request, parts, signal);
      metrics.admitted(path.slice(1), clock.monotonicMs() - startMs);
      if (refusal !== undefined) {
        metrics.denied(refusal.code);
        const object = describeParty(partyOfRequest(kind, request));
        parts.log.info({ object, code: refusal.code, dryRun: request.dryRun }, refusal.message);
      }
      return answer;
    });
    server.route("POST", path, handler);
  }
}
