/** Where pods of a component may run: the core/v1 fields, copied into pod templates as they are. */

import { z } from "zod";
import { PRESERVE_UNKNOWN_FIELDS } from "./cel.ts";

export const placementSchema = z
  .object({
    nodeSelector: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe("Labels that a node must carry, with their values, for pods to be scheduled on it."),
    affinity: z
      .looseObject({})
      .exactOptional()
      .meta({
        description:
          "Scheduling constraints of pods: nodeAffinity, podAffinity and podAntiAffinity as in core/v1 Affinity.",
        ...PRESERVE_UNKNOWN_FIELDS,
      }),
    tolerations: z
      .array(
        z.object({
          key: z.string().exactOptional().describe("Taint key that is tolerated; empty tolerates every key."),
          operator: z
            .string()
            .exactOptional()
            .describe("Exists or Equal: how the key relates to the value. Equal when empty."),
          value: z.string().exactOptional().describe("Taint value that is tolerated when the operator is Equal."),
          effect: z
            .string()
            .exactOptional()
            .describe("NoSchedule, PreferNoSchedule or NoExecute; empty tolerates every effect."),
          tolerationSeconds: z
            .int()
            .exactOptional()
            .describe("How many seconds a NoExecute taint is tolerated; for ever when unset."),
        }),
      )
      .exactOptional()
      .describe("Taints of nodes that pods tolerate."),
  })
  .describe("Rules for the nodes that pods of this half may be scheduled on.");

export type Placement = z.infer<typeof placementSchema>;

export const placementConfigurationSchema = z
  .object({
    infra: placementSchema
      .exactOptional()
      .describe("Placement of Deployments. When unset: control plane nodes are preferred, no node is excluded."),
    workloads: placementSchema
      .exactOptional()
      .describe(
        "Placement of DaemonSets. When unset: Linux nodes, also while they are cordoned. A given half replaces its default whole.",
      ),
  })
  .describe("Where the pods of the components run.");
