/** Which events report why something does not proceed, and what they mean. Pure. */

import { labelCommand } from "../manifests/labels.ts";
import { FAILED_CREATE_REASON } from "./reasons.ts";

export interface EventQuery {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object that is meant: another of its name may have been there before. */
  readonly uid?: string | undefined;
  readonly reasons: ReadonlySet<string>;
  /** The event adds its text only. */
  readonly keepReason?: boolean;
}

export const FAILED_CREATE: ReadonlySet<string> = new Set([FAILED_CREATE_REASON]);
export const UNHEALTHY: ReadonlySet<string> = new Set(["Unhealthy"]);

export interface RefusedPods {
  readonly reason: string;
  readonly message: string;
  readonly advice: string;
}

/** What a controller says when the API server takes no pods from it. Each text names another pod that never was. */
export function refusedPods(text: string, namespace: string): RefusedPods {
  const why = text.replace(
    /^(\(combined from similar events\): )?(Error creating: )?(pods "[^"]*" is forbidden: )?/,
    "",
  );
  return { reason: FAILED_CREATE_REASON, message: `its pods are refused: ${why}`, advice: adviceOn(why, namespace) };
}

function adviceOn(why: string, namespace: string): string {
  if (why.includes("exceeded quota")) return `Raise the quota of namespace ${namespace}`;
  if (why.includes("violates PodSecurity")) return labelCommand(namespace);
  if (why.includes("security context constraint")) {
    return (
      "Its account needs a SecurityContextConstraints that admits it, and the right to use it: see kubectl describe " +
      `rolebindings -n ${namespace} for the one that the operator made, and the message for what it lacks`
    );
  }
  return "Change what refuses them";
}

/** Any text that a reader takes a failure from. */
interface Failure {
  readonly reason: string;
  readonly message: string;
  readonly advice: string;
}

/** The failure as the event reports it. */
export function explained<T extends Failure>(failure: T, eventQuery: EventQuery, event: Omit<Failure, "advice">): T {
  const { kind, namespace, name, reasons, keepReason = false } = eventQuery;
  if (reasons === FAILED_CREATE) {
    const { message, ...refused } = refusedPods(event.message, namespace);
    return { ...failure, ...refused, message: `${kind} "${namespace}/${name}": ${message}` };
  }
  const reason = keepReason ? failure.reason : event.reason;
  return { ...failure, reason, message: `${failure.message}: ${event.message}` };
}
