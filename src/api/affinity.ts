/**
 * core/v1 Affinity, as Kubernetes 1.30 and later have it. The CRD has types, operators and bounds; the operator checks the rest
 * that is the same on every API server, so that a wrong one is refused where it is written.
 */

import * as z from "zod";
import { isLabelKey, KEY_TEXT } from "./legal-names.ts";

const LABEL_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"] as const;
const NODE_OPERATORS = [...LABEL_OPERATORS, "Gt", "Lt"] as const;
const MAX_WEIGHT = 100;

interface Requirement {
  readonly key: string;
  readonly operator: (typeof NODE_OPERATORS)[number];
  readonly values?: readonly string[];
}

/** A field that nobody knows would be dropped in silence. */
function strict<T extends z.core.$ZodLooseShape>(shape: T): z.ZodObject<T, z.core.$strict> {
  const known = Object.keys(shape).join(", ");
  const unknown = (keys: readonly string[]): string =>
    `has no field ${keys.map((key) => JSON.stringify(key)).join(" and no field ")}, only ${known}`;
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? unknown(issue.keys as string[]) : undefined),
  });
}

const strings = (description: string) => z.array(z.string()).exactOptional().describe(description);

const withRules = <T extends z.ZodType<Requirement>>(requirement: T): T =>
  requirement
    .refine(({ operator, values = [] }) => !operator.endsWith("In") || values.length > 0, {
      error: "has to hold a value at least, for the operators In and NotIn",
      path: ["values"],
    })
    .refine(({ operator, values = [] }) => !operator.includes("Exist") || values.length === 0, {
      error: "has to be empty, for the operators Exists and DoesNotExist",
      path: ["values"],
    })
    .refine(({ operator, values = [] }) => !/^[GL]t$/.test(operator) || /^[+-]?\d+$/.test(values.join()), {
      error: "has to hold one integer, for the operators Gt and Lt",
      path: ["values"],
    });

const requirements = (operators: readonly string[], isKey: (key: string) => boolean, description: string) =>
  z
    .array(
      withRules(
        strict({
          key: z.string().refine(isKey, { error: KEY_TEXT }).describe("Key that is compared."),
          operator: z.enum(operators as typeof NODE_OPERATORS).describe("How the key relates to the values."),
          values: strings("Values for In and NotIn; one integer for Gt and Lt."),
        }),
      ),
    )
    .exactOptional()
    .describe(description);

const nodeSelectorTerm = strict({
  matchExpressions: requirements(
    NODE_OPERATORS,
    isLabelKey,
    "Requirements for the labels of a node. All have to hold.",
  ),
  matchFields: requirements(NODE_OPERATORS, () => true, "Requirements for fields of a node: metadata.name."),
});

const labelSelector = strict({
  matchLabels: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe("Labels that have to be there, with these values."),
  matchExpressions: requirements(LABEL_OPERATORS, isLabelKey, "Requirements for labels. All have to hold."),
});

const weight = z.int().min(1).max(MAX_WEIGHT).describe("How much a match counts, beside other preferences.");

const nodeAffinity = strict({
  requiredDuringSchedulingIgnoredDuringExecution: strict({
    nodeSelectorTerms: z
      .array(nodeSelectorTerm)
      .min(1)
      .describe("Terms, one of which has to match. An empty term matches no node."),
  })
    .exactOptional()
    .describe("What a node has to have for a pod to be scheduled on it."),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(strict({ weight, preference: nodeSelectorTerm.describe("Nodes that are preferred.") }))
    .exactOptional()
    .describe("Nodes that are preferred, by the sum of the weights that match."),
});

const podAffinityTerm = strict({
  topologyKey: z.string().min(1).describe("Label of nodes: those with the same value are one place."),
  labelSelector: labelSelector.exactOptional().describe("Pods that this is about. Absent: none."),
  namespaces: strings("Namespaces of those pods."),
  namespaceSelector: labelSelector
    .exactOptional()
    .describe("Namespaces of those pods, by their labels. Empty: all. Absent, and no namespaces: that of the pod."),
  matchLabelKeys: strings("Labels in which those pods have to be equal to the pod."),
  mismatchLabelKeys: strings("Labels in which those pods have to differ from the pod."),
});

const betweenPods = (required: string, preferred: string) =>
  strict({
    requiredDuringSchedulingIgnoredDuringExecution: z.array(podAffinityTerm).exactOptional().describe(required),
    preferredDuringSchedulingIgnoredDuringExecution: z
      .array(strict({ weight, podAffinityTerm: podAffinityTerm.describe("The pods, and what counts as one place.") }))
      .exactOptional()
      .describe(preferred),
  });

export const affinitySchema = strict({
  nodeAffinity: nodeAffinity.exactOptional().describe("Nodes that pods have to run on, or rather run on."),
  podAffinity: betweenPods("Pods whose place has to be the same.", "Pods whose place is preferred.")
    .exactOptional()
    .describe("Pods beside which pods run."),
  podAntiAffinity: betweenPods("Pods whose place has to be another.", "Pods whose place is rather avoided.")
    .exactOptional()
    .describe("Pods away from which pods run."),
});
