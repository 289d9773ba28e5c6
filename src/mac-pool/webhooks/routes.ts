import {
  type AdmissionAnswer,
  type AdmissionRequest,
  admissionHandler,
} from "../../kube/admission/admission-server.ts";
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

type ReviewObject = (
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
) => Decision | Promise<Decision>;

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
    const webhook = path.slice(1);
    const decided = ({ answer, refusal }: Decision, request: AdmissionRequest, startMs: number): AdmissionAnswer => {
      metrics.admitted(webhook, clock.monotonicMs() - startMs);
      if (refusal !== undefined) {
        metrics.denied(refusal.code);
        const object = describeParty(partyOfRequest(kind, request));
        parts.log.info({ object, code: refusal.code, dryRun: request.dryRun }, refusal.message);
      }
      return answer;
    };
    const handler = admissionHandler((request, signal) => {
      const startMs = clock.monotonicMs();
      const decision = review(request, parts, signal);
      return decision instanceof Promise
        ? decision.then((later) => decided(later, request, startMs))
        : decided(decision, request, startMs);
    });
    server.route("POST", path, handler);
  }
}
