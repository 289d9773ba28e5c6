/** ValidatingAdmissionPolicies that deny or warn, with their bindings. Pure. */

import type { KubeObject } from "../../kube/client/resource.ts";
import type { Rule } from "./rbac.ts";

export interface Validation {
  /** CEL: the request is allowed. */
  readonly expression: string;
  readonly message: string;
}

export interface PolicyOptions {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly matches: readonly {
    readonly apiGroups: Rule["apiGroups"];
    readonly apiVersions: readonly string[];
    readonly resources: Rule["resources"];
    readonly operations: readonly string[];
  }[];
  /** The policy applies to requests that meet all of these. */
  readonly conditions: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
}

const ADMISSION = "admissionregistration.k8s.io/v1";

export function denyingPolicy(options: PolicyOptions): KubeObject[] {
  return policy(options, "Fail", "Deny");
}

/** Whoever asks gets the message with the answer, also of a dry run. */
export function warningPolicy(options: PolicyOptions): KubeObject[] {
  return policy(options, "Ignore", "Warn");
}

function policy(
  { name, labels, matches, conditions, validations }: PolicyOptions,
  failurePolicy: "Fail" | "Ignore",
  action: "Deny" | "Warn",
): KubeObject[] {
  const metadata = { name, labels };
  return [
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy,
        matchConstraints: constraints(matches),
        ...(conditions.length === 0 ? {} : { matchConditions: conditions }),
        validations: validations.map((validation) => ({ ...validation, reason: "Forbidden" })),
      },
    },
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: name, validationActions: [action] },
    },
  ];
}

/** With what the API server would add. */
export function constraints(resourceRules: readonly object[]): object {
  return { matchPolicy: "Equivalent", resourceRules: resourceRules.map((rule) => ({ ...rule, scope: "*" })) };
}
