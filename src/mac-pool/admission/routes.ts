import { OWNER_KINDS, type OwnerKind } from "../../api/mac-claim.ts";
import { MAC_POOL_PATHS } from "../../api/webhook-paths.ts";
import type { Clock } from "../../kube/clock.ts";
import { RateLimitedLog } from "../../kube/rate-limited-log.ts";
import {
  type AdmissionAnswer,
  type AdmissionRequest,
  admissionHandler,
  type Review,
} from "../../kube/server/admission-server.ts";
import type { PostRoutes } from "../../kube/server/route-server.ts";
import { describeObject } from "../claims/owner.ts";
import type { Refusal } from "../claims/refusals.ts";
import type { Caches } from "../cluster/caches.ts";
import type { PoolMetrics } from "../metrics.ts";
import { type AdmissionParts, type Decision, objectOfRequest } from "./decision.ts";
import type { OwnerRedaction } from "./owner-redaction.ts";
import { REVIEWS } from "./reviews.ts";

const PATHS = {
  Pod: MAC_POOL_PATHS.pods,
  VirtualMachine: MAC_POOL_PATHS.virtualMachines,
  VirtualMachineInstance: MAC_POOL_PATHS.instances,
} as const;

export interface WebhooksOptions {
  readonly parts: AdmissionParts;
  readonly caches: Pick<Caches, "hasSynced" | "whenSynced">;
  readonly names: OwnerRedaction;
  readonly metrics: PoolMetrics;
  readonly clock: Clock;
  /** Called for each refusal. */
  readonly onDenied: (kind: OwnerKind, request: AdmissionRequest, refusal: Refusal) => void;
}

/** kubectl applies several objects of a file, and does not say which of them was refused. */
function naming(object: string, answer: AdmissionAnswer): AdmissionAnswer {
  if (answer.allowed) return answer;
  const [, ...behind] = answer.message.split(object);
  const isNamed = behind.some((text) => !PART_OF_NAME.test(text));
  return isNamed ? answer : { ...answer, message: `${object}: ${answer.message}` };
}

/** `VirtualMachine default/web` does not name `VirtualMachine default/web-2`. */
const PART_OF_NAME = /^[\w.*-]*\w/;

/**
 * Serves the admission webhooks, counts what they decide and logs refusals. A container that was started anew is still asked
 * as one of the Service's: a review waits for its caches, because a replica that knows no pool would refuse every VM.
 */
export function routeWebhooks(routes: PostRoutes, options: WebhooksOptions): void {
  const { parts, caches, names, metrics, clock, onDenied } = options;
  const log = new RateLimitedLog({ log: parts.log, clock, level: "info", about: "refusals" });
  for (const kind of OWNER_KINDS) {
    const path = PATHS[kind];
    const webhook = path.slice(1);
    const decided = (decision: Decision, request: AdmissionRequest): AdmissionAnswer | Promise<AdmissionAnswer> => {
      const { refusal } = decision;
      if (refusal === undefined) return names.render(decision, request);
      metrics.denied(refusal.code);
      const object = describeObject(objectOfRequest(kind, request));
      log.add({ object, code: refusal.code, dryRun: request.dryRun }, refusal.message);
      onDenied(kind, request, refusal);
      const answer = names.render(decision, request);
      return answer instanceof Promise ? answer.then((later) => naming(object, later)) : naming(object, answer);
    };
    const decide: Review = (request, signal) => {
      const decision = REVIEWS[kind](request, parts, signal);
      return decision instanceof Promise
        ? decision.then((later) => decided(later, request))
        : decided(decision, request);
    };
    const review: Review = (request, signal) =>
      caches.hasSynced ? decide(request, signal) : caches.whenSynced(signal).then(() => decide(request, signal));
    routes.post(
      path,
      admissionHandler(review, (tookMs) => metrics.admitted(webhook, tookMs)),
    );
  }
}
