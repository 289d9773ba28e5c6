/** MACPool: ranges of MAC addresses with their policy, and what is left of them. */

import * as z from "zod";
import { celRules, macRangeRules } from "./cel.ts";
import { POOL_NAMES } from "./mac-range.ts";
import type { ObjectMeta } from "./object-meta.ts";

export const CONFLICT_POLICIES = ["Deny", "Warn", "DenyRunning"] as const;
export type ConflictPolicy = (typeof CONFLICT_POLICIES)[number];

export const CONFLICT_SCOPES = ["Cluster", "Network"] as const;
export type ConflictScope = (typeof CONFLICT_SCOPES)[number];

const OBJECT_OPT_OUTS = ["Claim", "Allow"] as const;
export type ObjectOptOut = (typeof OBJECT_OPT_OUTS)[number];

export const HOST_ADDRESS_POLICIES = ["Warn", "Deny", "Off"] as const;
export type HostAddressPolicy = (typeof HOST_ADDRESS_POLICIES)[number];

export const EXPLICIT_POLICIES = ["Anywhere", "OwnPool", "OutsidePools"] as const;
export type ExplicitAddresses = (typeof EXPLICIT_POLICIES)[number];

/** Filled in memory where a pool does not say. */
export const DEFAULT_QUARANTINE_SECONDS = 60;
/** An API server's request lifetime (60 s unless configured otherwise), the webhooks after ours, and a margin. */
export const DEFAULT_PENDING_SECONDS = 120;
export const DEFAULT_CONFLICT_POLICY: ConflictPolicy = "Deny";
export const DEFAULT_HOST_ADDRESS_POLICY: HostAddressPolicy = "Warn";
export const DEFAULT_EXPLICIT_ADDRESSES: ExplicitAddresses = "Anywhere";

const MAX_RANGES = 32;
const MAX_EXCLUSIONS = 256;
const MAX_MAC_TEXT = 64;

const rangeSchema = z
  .object({
    start: z.string().max(MAX_MAC_TEXT).describe("First MAC address, in any notation."),
    end: z
      .string()
      .max(MAX_MAC_TEXT)
      .describe("Last MAC address of the range, in any notation. It belongs to the range."),
  })
  .meta({
    description: "MAC addresses from start to end, both included. The pool skips multicast addresses between them.",
    ...celRules(...macRangeRules({ start: "start", end: "end" }, { required: true, single: true, texts: POOL_NAMES })),
  });

const labelSelectorSchema = z.object({
  matchLabels: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe("Labels that a namespace must have, with these values."),
  matchExpressions: z
    .array(
      z.object({
        key: z.string().describe("Key of the label."),
        operator: z.string().describe("In, NotIn, Exists or DoesNotExist."),
        values: z.array(z.string()).exactOptional().describe("Values for In and NotIn."),
      }),
    )
    .exactOptional()
    .describe("Expressions that must all be true."),
});

export type LabelSelector = z.infer<typeof labelSelectorSchema>;

const macPoolSpecSchema = z
  .object({
    ranges: z.array(rangeSchema).min(1).max(MAX_RANGES).describe("Ranges of addresses that the pool gives out."),
    exclusions: z
      .array(rangeSchema)
      .max(MAX_EXCLUSIONS)
      .exactOptional()
      .describe("Addresses in the ranges that the pool never gives out."),
    namespaceSelector: labelSelectorSchema
      .exactOptional()
      .describe(
        "Namespaces that this pool serves. If several pools match a namespace, the oldest serves it. If none does, the pool default does.",
      ),
    conflictPolicy: z
      .enum(CONFLICT_POLICIES)
      .exactOptional()
      .describe(
        "What happens when an object asks for a MAC address that another object has. Deny (the default): the object is " +
          "refused. Warn: it is admitted with a warning. DenyRunning: it is admitted, but only one of them can run.",
      ),
    conflictScope: z
      .enum(CONFLICT_SCOPES)
      .exactOptional()
      .describe(
        "Where an address is in conflict with another object's. Cluster (the default): anywhere. Network: only on networks that can " +
          "meet, if the pools of both objects say Network. Different bridges, VLANs of a bridge, and networks of other plugins by " +
          "name count as apart. The pool itself gives out no address that any object has.",
      ),
    explicitAddresses: z
      .enum(EXPLICIT_POLICIES)
      .exactOptional()
      .describe(
        "Which MAC addresses objects can ask for in the namespaces that this pool serves. Anywhere (the default): any, also of " +
          "another pool. OwnPool: only those in the ranges of this pool. OutsidePools: only those in the range of no pool; " +
          "exclusions count as outside. An object keeps an address that it has a claim of already.",
      ),
    hostAddressPolicy: z
      .enum(HOST_ADDRESS_POLICIES)
      .exactOptional()
      .describe(
        "What happens when an object asks for a MAC address that a node has on a physical interface or a bond. Warn (the " +
          "default): the object is admitted with a warning. Deny: it is refused, unless it has the address already. " +
          '"Off", in YAML with quotes: it is admitted. ' +
          "The pool itself never gives out such an address.",
      ),
    objectOptOut: z
      .enum(OBJECT_OPT_OUTS)
      .exactOptional()
      .describe(
        "What the label mutatevirtualmachines.kubemacpool.io=ignore (for pods: mutatepods.kubemacpool.io=ignore) of a single " +
          "object means. Claim (the default): the object gets no address from the pool, but those that it lists must be free " +
          "and are claimed. Allow: the pool ignores the object. The label macpool.network.kubevirt.io/object-opt-out of the " +
          "namespace, claim or allow, takes precedence.",
      ),
    maxAddressesPerNamespace: z
      .int32()
      .min(1)
      .exactOptional()
      .describe(
        "How many MAC addresses the objects of one namespace that this pool serves can have, in and outside the ranges. " +
          "Default: no limit.",
      ),
    quarantineSeconds: z
      .int32()
      .min(0)
      .max(86_400)
      .exactOptional()
      .describe("How long a released address is in quarantine before the pool gives it out again. Default: 60."),
    pendingSeconds: z
      .int32()
      .min(DEFAULT_PENDING_SECONDS)
      .max(3_600)
      .exactOptional()
      .describe(
        "How long a claim waits for an object that was admitted. Default: 120, the API server's --request-timeout and a " +
          "minute more. The largest value of any pool applies to every pool.",
      ),
  })
  .describe("Ranges and policy of the pool.");

export type MacPoolSpec = z.infer<typeof macPoolSpecSchema>;

const count = (description: string) => z.int().min(0).exactOptional().describe(description);

const conditionSchema = z.object({
  type: z.string().describe("Valid, Full, Overlapping, Adopted, or Serving where the webhooks refuse every caller."),
  status: z.string().describe("True, False or Unknown."),
  reason: z.string().exactOptional().describe("Reason for the last transition, as one word."),
  message: z.string().exactOptional().describe("What the condition means and what to do."),
  lastTransitionTime: z.iso.datetime().exactOptional().describe("When the status changed last."),
  observedGeneration: z.int().exactOptional().describe("Generation of the spec that the condition describes."),
});

/** Days with a change that `status.history` holds: the last month, and what was before it. */
export const MAX_HISTORY_DAYS = 31;

export const dayUsageSchema = z.object({
  date: z.iso.date().max(10).describe("Day, by UTC."),
  used: z.int().min(0).describe("Addresses in use after the last change of the status on this day."),
});

export type DayUsage = z.infer<typeof dayUsageSchema>;

const macPoolStatusSchema = z
  .object({
    observedGeneration: z.int().exactOptional().describe("Generation of the spec that this status describes."),
    ranges: z
      .array(z.string())
      .exactOptional()
      .describe(
        "Ranges in force, as first-last, without exclusions and multicast addresses. If the spec is invalid, the last valid ranges stay in force.",
      ),
    range: z.string().exactOptional().describe("The first ranges in one line, for kubectl get."),
    capacity: count("Addresses in these ranges."),
    used: count("Addresses in the ranges that have a claim: bound, pending or quarantined."),
    free: count("Addresses that the pool can give out now."),
    hostAddresses: count(
      "Addresses in the ranges that have no claim and are not given out, because nodes or stations outside the cluster have " +
        "them.",
    ),
    hostConflicts: count("Addresses of this pool that an object and a node have at the same time."),
    pending: count("Addresses of objects that were admitted but do not exist yet."),
    quarantined: count("Released addresses that are still in quarantine."),
    outOfRange: count("Claims of this pool for addresses outside its ranges."),
    conflicts: count("Addresses that more than one object has. With conflictScope Network: on networks that can meet."),
    history: z
      .array(dayUsageSchema)
      .max(MAX_HISTORY_DAYS)
      .exactOptional()
      .describe(
        "Addresses in use, day by day, oldest first. A day without a change has no entry: the one before holds.",
      ),
    conditions: z.array(conditionSchema).exactOptional().describe("Health of the pool."),
  })
  .describe("State of the pool, written by its manager.");

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
