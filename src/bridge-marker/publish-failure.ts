import { ApiError, isConflict, isForbidden } from "../kube/client/api-error.ts";

/** Why the node's status can't be written, in one sentence: what, where, why and what to do. Pure. */
export function publishFailure(nodeName: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `the bridges of Node ${nodeName} can't be published: ${reason.replace(/\.$/, "")}. ${adviceFor(error)}`;
}

function adviceFor(error: unknown): string {
  if (isForbidden(error)) {
    return "Restore the ClusterRole bridge-marker-cr, or change the admission policy or webhook that refuses the patch";
  }
  if (isConflict(error)) return "Somebody else writes this Node all the time; it is tried again";
  if (isAnswer(error)) return "Correct what the API server refuses; it is tried again";
  return "Look at the API server and the way to it; it is tried again";
}

/** Whether the API server works and said no. Then a restart of this process would not help. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429;
}
