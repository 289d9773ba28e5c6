/**
 * What the Pod Security level of the namespace means for a workload. The namespace may belong to somebody else, so the operator
 * asks for its label and never sets it. Pure.
 */

import type { KubeObject } from "../../kube/client/resource.ts";
import { hostAccess } from "../manifests/host-access.ts";
import { labelCommand, NODE_ACCESS_LEVEL } from "../manifests/pod-security.ts";
import { FAILED_CREATE_REASON } from "./reasons.ts";
import type { Rollout } from "./rollout.ts";

/** `level`: as the namespace's label says; undefined where it has none, and the default of the API server counts. */
export function underLevel(rollout: Rollout, workload: KubeObject, level: string | undefined): Rollout {
  if (level === undefined || level === NODE_ACCESS_LEVEL || hostAccess(workload) === undefined) return rollout;
  const { kind, metadata } = workload;
  const { namespace = "", name } = metadata;
  const title = `${kind} "${namespace}/${name}"`;
  const demand = `namespace ${namespace} enforces the Pod Security level ${level}, which takes no pods that use their node`;
  const advice = labelCommand(namespace);
  const { recheckAfterMs } = rollout;
  if (rollout.phase === "rolling") {
    return { phase: "failing", reason: FAILED_CREATE_REASON, message: `${title}: ${demand}`, advice, recheckAfterMs };
  }
  if (rollout.phase !== "ready") return rollout;
  const warning = `${title}: ${demand}: those that run stay, and none can be replaced. ${advice}`;
  return { ...rollout, note: rollout.note === undefined ? warning : `${rollout.note}\n${warning}` };
}
