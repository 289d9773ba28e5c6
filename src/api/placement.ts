/** Where pods of a component may run: the core/v1 fields, copied into pod templates as they are. */

import * as z from "zod";
import { affinitySchema } from "./affinity.ts";
import { type CelRule, celRules } from "./cel.ts";
import {
  isLabelKey,
  isLabelValue,
  KEY_TEXT,
  LABEL_KEY_PATTERN,
  LABEL_VALUE_PATTERN,
  MAX_LABEL,
  MAX_LABEL_KEY,
  MAX_SUBDOMAIN,
  VALUE_TEXT,
} from "./legal-names.ts";

/** More than any cluster has taints. Bounds the size of pods and the cost of rules. */
const MAX_TOLERATIONS = 500;

/** More than any node is chosen by. Bounds the same. */
const MAX_SELECTOR_LABELS = 100;

export const TOLERATION_OPERATORS = ["", "Exists", "Equal", "Lt", "Gt"];
export const TAINT_EFFECTS = ["", "NoSchedule", "PreferNoSchedule", "NoExecute"];

const tolerationSchema = z.object({
  key: z
    .string()
    .max(MAX_LABEL_KEY)
    .exactOptional()
    .describe("Taint key that is tolerated; empty tolerates every key."),
  operator: z
    .string()
    .exactOptional()
    .describe("Exists or Equal: how the key relates to the value. Equal when empty. Kubernetes 1.35 adds Lt and Gt."),
  value: z
    .string()
    .max(MAX_LABEL)
    .exactOptional()
    .describe("Taint value that is tolerated when the operator is not Exists."),
  effect: z
    .string()
    .exactOptional()
    .describe("NoSchedule, PreferNoSchedule or NoExecute; empty tolerates every effect."),
  tolerationSeconds: z
    .int()
    .exactOptional()
    .describe("How many seconds a NoExecute taint is tolerated. Default: no limit."),
});

export type Toleration = z.infer<typeof tolerationSchema>;

interface PlacementRule<T> {
  readonly rule: string;
  readonly message: string;
  readonly holds: (value: T) => boolean;
}

const isKey = (value: string): string =>
  `${value}.matches('${LABEL_KEY_PATTERN}') && ${value}.indexOf('/') <= ${MAX_SUBDOMAIN}`;
const isValue = (value: string): string => `${value}.matches('${LABEL_VALUE_PATTERN}')`;

/** What the API server demands of pods, so that a wrong label is refused where it is written. */
export const SELECTOR_RULES: readonly PlacementRule<Readonly<Record<string, string>>>[] = [
  {
    rule: `self.all(key, ${isKey("key")})`,
    message: `each key ${KEY_TEXT}`,
    holds: (selector) => Object.keys(selector).every(isLabelKey),
  },
  {
    rule: `self.all(key, ${isValue("self[key]")})`,
    message: `each value ${VALUE_TEXT}`,
    holds: (selector) => Object.values(selector).every(isLabelValue),
  },
];

/** The same for a toleration. */
export const TOLERATION_RULES = {
  operator: {
    rule: `!has(self.operator) || self.operator in ${JSON.stringify(TOLERATION_OPERATORS)}`,
    message: "operator of a toleration has to be Exists or Equal (Kubernetes 1.35 adds Lt and Gt)",
    holds: ({ operator = "" }) => TOLERATION_OPERATORS.includes(operator),
  },
  effect: {
    rule: `!has(self.effect) || self.effect in ${JSON.stringify(TAINT_EFFECTS)}`,
    message: "effect of a toleration has to be NoSchedule, PreferNoSchedule or NoExecute",
    holds: ({ effect = "" }) => TAINT_EFFECTS.includes(effect),
  },
  noKey: {
    rule: "(has(self.key) && self.key != '') || (has(self.operator) && self.operator == 'Exists')",
    message: "a toleration without a key tolerates all taints: its operator has to be Exists",
    holds: ({ key = "", operator }) => key !== "" || operator === "Exists",
  },
  valueOfExists: {
    rule: "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
    message: "a toleration with the operator Exists must not have a value",
    holds: ({ operator, value = "" }) => operator !== "Exists" || value === "",
  },
  seconds: {
    rule: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    message: "a toleration with tolerationSeconds has to have the effect NoExecute",
    holds: ({ tolerationSeconds, effect }) => tolerationSeconds === undefined || effect === "NoExecute",
  },
  key: {
    rule: `!has(self.key) || self.key == '' || (${isKey("self.key")})`,
    message: `key of a toleration ${KEY_TEXT}`,
    holds: ({ key = "" }) => key === "" || isLabelKey(key),
  },
  value: {
    rule: `!has(self.value) || ${isValue("self.value")}`,
    message: `value of a toleration ${VALUE_TEXT}`,
    holds: ({ value = "" }) => isLabelValue(value),
  },
} satisfies Readonly<Record<string, PlacementRule<Toleration>>>;

const celOf = (rules: readonly PlacementRule<never>[]): { readonly "x-kubernetes-validations": readonly CelRule[] } =>
  celRules(...rules.map(({ rule, message }) => ({ rule, message })));

export const placementSchema = z
  .object({
    nodeSelector: z
      .record(z.string(), z.string().max(MAX_LABEL))
      .refine((selector) => Object.keys(selector).length <= MAX_SELECTOR_LABELS, {
        error: `Too many: must have at most ${MAX_SELECTOR_LABELS} labels`,
      })
      .exactOptional()
      .meta({
        description: "Labels that a node must carry, with their values, for pods to be scheduled on it.",
        maxProperties: MAX_SELECTOR_LABELS,
        ...celOf(SELECTOR_RULES),
      }),
    affinity: affinitySchema
      .exactOptional()
      .describe(
        "Scheduling constraints of pods: nodeAffinity, podAffinity and podAntiAffinity as in core/v1 Affinity.",
      ),
    tolerations: z
      .array(tolerationSchema.meta(celOf(Object.values(TOLERATION_RULES))))
      .max(MAX_TOLERATIONS)
      .exactOptional()
      .describe("Taints of nodes that pods tolerate."),
  })
  .describe("Rules for the nodes that pods of this half may be scheduled on.");

export type Placement = z.infer<typeof placementSchema>;

export const placementConfigurationSchema = z
  .object({
    infra: placementSchema
      .exactOptional()
      .describe("Placement of Deployments. Default: nodes of the control plane are preferred, no node is excluded."),
    workloads: placementSchema
      .exactOptional()
      .describe(
        "Placement of DaemonSets. Default: Linux nodes, also while they are cordoned. A given half replaces its whole default.",
      ),
  })
  .describe("Where the pods of the components run.");
