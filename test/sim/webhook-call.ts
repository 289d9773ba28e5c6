import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { AdmissionRequest } from "../../src/kube/server/admission-server.ts";
import type { Decision } from "../../src/mac-pool/admission/decision.ts";
import { type HolderKind, RESOURCE_OF } from "./objects.ts";
import type { SimReplica } from "./sim-replica.ts";
import type { World } from "./world.ts";

export interface Answer {
  readonly decision: Decision;
  readonly replica: SimReplica;
  readonly calledMs: number;
}

/** Calls a ready replica as the API server does, and tells what it answers; undefined without an answer in time. */
export function callWebhook(
  world: World,
  request: AdmissionRequest,
  timeoutMs: number,
  told: (answer: Answer | undefined) => void,
): void {
  const { scheduler, random, endpoints } = world;
  const ready = endpoints();
  if (ready.length === 0) {
    told(undefined);
    return;
  }
  const replica = random.pick(ready);
  const calledMs = scheduler.nowMs;
  let isOver = false;
  const once = (answer: Answer | undefined): void => {
    if (isOver) return;
    isOver = true;
    told(answer);
  };
  scheduler.after(timeoutMs, () => once(undefined));
  scheduler.after(random.between(0.2, 3), () => {
    if (!replica.host.isAlive) return once(undefined);
    replica.review(request, (decision) =>
      scheduler.after(random.between(0.2, 3), () => once({ decision, replica, calledMs })),
    );
  });
}

export function admissionRequest(
  kind: HolderKind,
  object: KubeObject,
  old: KubeObject | undefined,
  dryRun: boolean,
): AdmissionRequest {
  const { group, version, plural } = RESOURCE_OF[kind];
  return {
    uid: "request",
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    operation: old === undefined ? "CREATE" : "UPDATE",
    name: object.metadata.name ?? "",
    namespace: object.metadata.namespace ?? "",
    object,
    oldObject: old ?? null,
    dryRun,
    userInfo: {},
  };
}
