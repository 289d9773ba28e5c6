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
  readonly labels?: Readonly<Record<string, string>>;
  readonly matches: readonly {
    readonly apiGroups: Rule["apiGroups"];
    readonly apiVersions: readonly string[];
    readonly resources: Rule["resources"];
    readonly resourceNames?: readonly string[];
    readonly operations: readonly string[];
  }[];
  /** The policy applies to requests that meet all of these. */
  readonly conditions: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
  /** The policy applies while this object exists. */
  readonly param?: { readonly apiVersion: string; readonly kind: string; readonly name: string };
}

const ADMISSION = "admissionregistration.k8s.io/v1";

export function denyingPolicy(options: PolicyOptions): KubeObject[] {
  // Without the definition of its kind there is no such object.
  return policy(options, options.param === undefined ? "Fail" : "Ignore", "Deny");
}

/** Whoever asks gets the message with the answer, also of a dry run. */
export function warningPolicy(options: PolicyOptions): KubeObject[] {
  return policy(options, "Ignore", "Warn");
}

function policy(
  { name, labels, matches, conditions, validations, param }: PolicyOptions,
  failurePolicy: "Fail" | "Ignore",
  action: "Deny" | "Warn",
): KubeObject[] {
  const metadata = { name, ...(labels && { labels }) };
  return [
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy,
        ...(param && { paramKind: { apiVersion: param.apiVersion, kind: param.kind } }),
        matchConstraints: constraints(matches),
        ...(conditions.length === 0 ? {} : { matchConditions: conditions }),
        validations: validations.map((validation) => ({ ...validation, reason: "Forbidden" })),
      },
    },
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: name,
        ...(param && { paramRef: { name: param.name, parameterNotFoundAction: "Allow" } }),
        validationActions: [action],
      },
    },
  ];
}

/** With what the API server would add. */
function constraints(resourceRules: readonly object[]): object {
  return { matchPolicy: "Equivalent", resourceRules: resourceRules.map((rule) => ({ ...rule, scope: "*" })) };
}
