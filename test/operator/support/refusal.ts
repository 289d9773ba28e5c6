/** A policy of others that refuses requests, as administrators have them. */

import { isForbidden, isInvalid, isNotFound } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";

export interface RefusedRequests {
  readonly apiGroup: string;
  readonly resource: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly text?: string;
}

export const REFUSAL_NAME = "refused-by-a-policy";
export const REFUSAL_TEXT = "the house rules forbid it";

/** Refuses such requests from everybody once it resolves. Disposing of it ends that. */
export async function refuse(
  client: KubeClient,
  { apiGroup, resource, operation, text = REFUSAL_TEXT }: RefusedRequests,
): Promise<AsyncDisposable> {
  const rule = { apiGroups: [apiGroup], apiVersions: ["*"], resources: [resource], operations: [operation] };
  const metadata = { name: REFUSAL_NAME };
  await client.create(RESOURCES.validatingAdmissionPolicies, {
    metadata,
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "false", message: text }],
    },
  });
  await client.create(RESOURCES.validatingAdmissionPolicyBindings, {
    metadata,
    spec: { policyName: REFUSAL_NAME, validationActions: ["Deny"] },
  });
  return { [Symbol.asyncDispose]: () => lift(client) };
}

async function lift(client: KubeClient): Promise<void> {
  for (const kind of [RESOURCES.validatingAdmissionPolicyBindings, RESOURCES.validatingAdmissionPolicies]) {
    await client.delete(kind, { name: REFUSAL_NAME });
  }
}

/** Whether the API server refuses the request by such a policy. */
export async function isRefused(request: () => Promise<unknown>, text = REFUSAL_TEXT): Promise<boolean> {
  try {
    await request();
    return false;
  } catch (error) {
    if (isForbidden(error) || isInvalid(error)) return error.message.includes(text);
    if (isNotFound(error)) return false;
    throw error;
  }
}
