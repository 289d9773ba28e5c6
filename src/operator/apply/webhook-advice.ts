/** What to do about a webhook of others that refuses an object, or does not answer. Pure. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { nameOf } from "./inventory.ts";

/** In the API server's words. */
const REFUSED = /admission webhook "([^"]+)" denied the request/;
const UNANSWERED = /failed calling webhook "([^"]+)"/;

/** The API server's message, and after it what to do if a webhook is the cause. */
export function withWebhookAdvice(message: string, object: KubeObject): string {
  const webhook = (REFUSED.exec(message) ?? UNANSWERED.exec(message))?.[1];
  if (webhook === undefined) return message;
  const { namespace } = object.metadata;
  const exempt = namespace === undefined ? nameOf(object) : `namespace ${namespace}`;
  return `${message.replace(/\.$/, "")}. Change or delete webhook ${webhook}, or exempt ${exempt}`;
}
