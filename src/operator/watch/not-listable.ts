/** What to say while the API server does not list a kind, and how long to wait before. Pure. */

import type { KubeObject, Resource } from "../../kube/client/resource.ts";
import type { Informer } from "../../kube/informer/informer.ts";

/** An informer of any kind. */
export type WatchingInformer = Pick<
  Informer<KubeObject>,
  "resource" | "fault" | "hasSynced" | "whenSynced" | "start" | "retryNow"
>;

/** A kind may be broken for days. */
export const NOT_LISTABLE_WAIT_MS = 5_000;

/** In the API server's words, whoever authorizes. */
const FORBIDDEN = " is forbidden: ";

/** One sentence and what to look at. `fault`: what the API server answered. */
export function notListableText({ group, version, plural }: Resource, fault = "it does not answer"): string {
  const text = `the API server does not list ${group === "" ? plural : `${plural}.${group}`}: ${fault.replace(/\.$/, "")}`;
  if (fault.includes(FORBIDDEN)) return `${text}. Give the operator its right back: apply its release again`;
  if (group === "") return text;
  return (
    `${text}. Look for a broken API service with kubectl get apiservice ${version}.${group}, ` +
    `and for a broken conversion webhook in kubectl get crd ${plural}.${group} -o yaml`
  );
}
