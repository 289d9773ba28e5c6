/** MACPool: ranges of MAC addresses with their policy, and what is left of them. */

import { z } from "zod";
import { celRules, macRangeRules } from "./cel.ts";
import type { ObjectMeta } from "./object-meta.ts";

export const CONFLICT_POLICIES = ["Deny", "Warn", "DenyRunning"] as const;
export type ConflictPolicy = (typeof CONFLICT_POLICIES)[number];

/** Filled in memory where a pool does not say. */
export const DEFAULT_QUARANTINE_SECONDS = 60;
/** An API server's request lifetime (60 s unless configured otherwise), the webhooks after ours, and a margin. */
export const DEFAULT_PENDING_SECONDS = 120;
export const DEFAULT_CONFLICT_POLICY: ConflictPolicy = "Deny";

const MAX_RANGES = 32;
const MAX_EXCLUSIONS = 256;
const MAX_MAC_TEXT = 64;

const rangeSchema = z
  .object({
    start: z.string().max(MAX_MAC_TEXT).describe("First MAC address, in any notation."),
    end: z.string().max(MAX_MAC_TEXT).describe("Last MAC address, included."),
  })
  .meta({
    description: "MAC addresses from start to end, both included.",
    ...celRules(...macRangeRules({ start: "start", end: "end" }, { required: true, single: true })),
  });

const labelSelectorSchema = z.object({
  matchLabels: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe("Labels with the values that a namespace must carry."),
  matchExpressions: z
    .array(
      z.object({
        key: z.string().describe("Label key the expression is about."),
        operator: z.string().describe("In, NotIn, Exists or DoesNotExist."),
        values: z.array(z.string()).exactOptional().describe("Values for In and NotIn."),
      }),
    )
    .exactOptional()
    .describe("Expressions that all must hold."),
});

export type LabelSelector = z.infer<typeof labelSelectorSchema>;

export const macPoolSpecSchema = z
  .object({
    ranges: z.array(rangeSchema).min(1).max(MAX_RANGES).describe("Ranges that addresses are taken from."),
    exclusions: z
      .array(rangeSchema)
      .max(MAX_EXCLUSIONS)
      .exactOptional()
      .describe("Parts of the ranges that are never given out."),
    namespaceSelector: labelSelectorSchema
      .exactOptional()
      .describe("Namespaces that this pool serves; the oldest matching pool wins. The pool default serves all others."),
    conflictPolicy: z
      .enum(CONFLICT_POLICIES)
      .exactOptional()
      .describe(
        "What happens to a second object that asks for a MAC in use: Deny (when unset), Warn (admitted with a warning) or " +
          "DenyRunning (only one of them may run).",
      ),
    quarantineSeconds: z
      .int32()
      .min(0)
      .max(86_400)
      .exactOptional()
      .describe("How long a released address rests before it is given out again. 60 when unset."),
    pendingSeconds: z
      .int32()
      .min(DEFAULT_PENDING_SECONDS)
      .max(3_600)
      .exactOptional()
      .describe(
        "How long a claim waits for an object that was admitted, 120 when unset: the API server's --request-timeout and a " +
          "minute more. The longest of any pool holds for all of them.",
      ),
  })
  .describe("Ranges and policy of the pool.");

export type MacPoolSpec = z.infer<typeof macPoolSpecSchema>;

const count = (description: string) => z.int().min(0).exactOptional().describe(description);

const conditionSchema = z.object({
  type: z.string().describe("What the condition is about."),
  status: z.string().describe("True, False or Unknown."),
  reason: z.string().exactOptional().describe("One word for the cause of the last transition."),
  message: z.string().exactOptional().describe("What it is about, for people."),
  lastTransitionTime: z.iso.datetime().exactOptional().describe("When the status changed last."),
  observedGeneration: z.int().exactOptional().describe("Generation of the spec that the condition is about."),
});

export const macPoolStatusSchema = z
  .object({
    observedGeneration: z.int().exactOptional().describe("Generation of the spec that this status is about."),
    ranges: z
      .array(z.string())
      .exactOptional()
      .describe("Ranges in force, as first-last: the last good ones when the spec holds an invalid one."),
    range: z.string().exactOptional().describe("The ranges in one line, cut after some."),
    capacity: count("Addresses in all ranges but those excluded."),
    used: count("Addresses in the ranges that have a claim: bound, pending or quarantined."),
    free: count("Addresses that can be given out."),
    pending: count("Addresses of objects that were admitted but not seen yet."),
    quarantined: count("Released addresses that still rest."),
    outOfRange: count("Claims of this pool that lie outside of its ranges."),
    conflicts: count("Addresses that more than one object holds."),
    conditions: z.array(conditionSchema).exactOptional().describe("Health of the pool."),
  })
  .describe("What the pool's manager observed.");

export type MacPoolStatus = z.infer<typeof macPoolStatusSchema>;

export const macPoolSchema = z
  .object({ spec: macPoolSpecSchema, status: macPoolStatusSchema.exactOptional() })
  .describe("A pool of MAC addresses for virtual machines and pods.");

export type MACPool = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: MacPoolSpec;
  readonly status?: MacPoolStatus;
};

/** Ranges that status.range shows; a line of kubectl has little room, and exclusions can cut a range into hundreds. */
const SHOWN_RANGES = 3;

/** Value of status.range: `first-last, first-last`, `... +5` with five more, `-` with none. */
export function describeRanges(ranges: readonly string[]): string {
  const more = ranges.length - SHOWN_RANGES;
  if (more <= 0) return ranges.join(", ") || "-";
  return `${ranges.slice(0, SHOWN_RANGES).join(", ")} +${more}`;
}
