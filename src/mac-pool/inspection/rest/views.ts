/**
 * What inspection answers, as JSON: the schemas that shape the answers and describe them in /openapi.json. The CLI and the
 * page import the types. Imports zod and the contract only.
 *
 * Times are RFC 3339 in UTC, addresses six lower-case octets joined by colons.
 */

import * as z from "zod";
import { CLAIM_ORIGINS, claimOwnerSchema, OWNER_KINDS, SHOWN_PHASES } from "../../../api/mac-claim.ts";
import {
  CONFLICT_POLICIES,
  CONFLICT_SCOPES,
  dayUsageSchema,
  EXPLICIT_POLICIES,
  HOST_ADDRESS_POLICIES,
} from "../../../api/mac-pool.ts";
import { besideView, listedBy, usedNowSchema } from "./collision-views.ts";
import { networkViewSchema } from "./network-views.ts";
import { keptBackView, placeView, stationsOfRangeSchema } from "./place-view.ts";

export * from "./collision-views.ts";
export * from "./consistency-views.ts";
export type { ListView, ProblemView, WatchEventView } from "./envelopes.ts";
export * from "./network-views.ts";
export type { StationView } from "./place-view.ts";

const time = z.iso.datetime();
const mac = z.string().describe("A MAC address: six lower-case octets joined by colons.");
const count = z.int().min(0);
const hostAddress = z.string().exactOptional().describe("What of a node has it; no names for who sees one namespace.");

const ownerViewSchema = claimOwnerSchema.extend({
  ...placeView,
  bridge: z
    .string()
    .exactOptional()
    .describe("Bridge of its network; absent of a network that leads to none, or that the reader may not see."),
  vlan: networkViewSchema.shape.vlan,
  trunk: networkViewSchema.shape.trunk,
  origin: z
    .enum(CLAIM_ORIGINS)
    .exactOptional()
    .describe("How this owner came to the address, where it is not the origin of the claim."),
});
export type OwnerView = z.infer<typeof ownerViewSchema>;

export const claimViewSchema = z
  .object({
    name: z.string().describe("Name of the MACClaim."),
    mac,
    pool: z.string().exactOptional().describe("Absent for who sees some owners only, as is the range."),
    origin: z.enum(CLAIM_ORIGINS).describe("How the first owner that the reader may see came to the address."),
    phase: z.enum(SHOWN_PHASES).describe("Pending: no object that this replica knows has listed the address yet."),
    owners: z.array(ownerViewSchema).describe("Owners that the reader may see."),
    elsewhere: count.describe("Owners in other namespaces, which the reader may not see."),
    inRange: z.boolean().describe("Whether a pool has the address in its ranges."),
    range: z.string().exactOptional().describe("The range with the address, as first-last."),
    rangePool: z.string().exactOptional().describe("The pool of that range, where it is not the claim's pool."),
    created: time
      .exactOptional()
      .describe("Since when it is claimed; for who sees some owners only, since when the first of them has it."),
    deadline: time.exactOptional().describe("Pending: until this time the claim waits for its object."),
    until: time.exactOptional().describe("End of the quarantine."),
    revision: z.string().exactOptional().describe("resourceVersion of the MACClaim; the same in Pending and Bound."),
    hostAddress: hostAddress.describe("What of a node has it too; lists leave it out."),
    ...besideView,
  })
  .meta({ id: "Claim" });
export type ClaimView = z.infer<typeof claimViewSchema>;

const rangeViewSchema = z.object({
  first: mac,
  last: mac,
  capacity: count,
  used: count.describe("Addresses with a claim: bound, pending or quarantined."),
  free: count,
  pending: count,
  quarantined: count,
  ...keptBackView,
  stations: stationsOfRangeSchema.exactOptional(),
});
export type RangeView = z.infer<typeof rangeViewSchema>;

const rateViewSchema = z
  .object({
    allocationsPerDay: z.number().min(0).exactOptional(),
    releasesPerDay: z.number().min(0).exactOptional(),
    netPerDay: z.number().exactOptional(),
    windowSeconds: count.describe(
      "How long this replica has counted, a week at most. Before it has counted for an hour, the numbers of a day are absent.",
    ),
  })
  .describe("How fast claims with addresses in the pool's ranges come, by admission, and go.");
export type RateView = z.infer<typeof rateViewSchema>;

const daysToFullViewSchema = z
  .object({
    days: z.number().min(0).nullable().describe("Null when the pool is not filling, or when that is not known yet."),
    atLeast: z.number().min(0).nullable().describe("Lower end of the 95 % interval; null when it is not known."),
    atMost: z.number().min(0).nullable().describe("Upper end of the 95 % interval; null when there is none."),
    reason: z.string().describe("What the numbers rest on, or why there are none, in one sentence."),
  })
  .describe("When the pool is full if claims go on coming and going at the measured rate.");
export type DaysToFullView = z.infer<typeof daysToFullViewSchema>;

export const poolViewSchema = z
  .object({
    name: z.string(),
    ranges: z.array(rangeViewSchema).describe("Ranges in force, in order, without exclusions and multicast addresses."),
    exclusions: z.array(z.string()).describe("Addresses that are never given out, as first-last."),
    serves: z.string().describe("Which namespaces the pool serves, in words."),
    conflictPolicy: z.enum(CONFLICT_POLICIES),
    conflictScope: z.enum(CONFLICT_SCOPES),
    explicitAddresses: z.enum(EXPLICIT_POLICIES).exactOptional().describe("Of the MACPool's spec."),
    quarantineSeconds: z.number().min(0),
    capacity: count,
    used: count,
    free: count,
    pending: count,
    quarantined: count,
    outOfRange: count.describe("Claims of the pool for addresses outside its ranges."),
    conflicts: count.describe("Addresses that more than one object has."),
    hostAddresses: keptBackView.hostAddresses,
    hostConflicts: count.exactOptional().describe("Addresses that an object and a node have."),
    hostAddressPolicy: z.enum(HOST_ADDRESS_POLICIES).exactOptional().describe("Of the MACPool's spec."),
    rate: rateViewSchema,
    daysToFull: daysToFullViewSchema,
    history: z.array(dayUsageSchema).exactOptional().describe("Of the MACPool's status: addresses in use, day by day."),
    problem: z.string().exactOptional().describe("What is wrong with its spec."),
  })
  .meta({ id: "Pool" });
export type PoolView = z.infer<typeof poolViewSchema>;

const cellViewSchema = z.object({
  first: mac,
  last: mac,
  size: count.describe("Addresses of the pool from first to last."),
  free: count,
  pending: count,
  bound: count,
  quarantined: count,
  ...keptBackView,
  explicit: count.describe("Those with a claim that somebody wrote or that was observed, in any phase."),
  colliding: count.describe("Those that a running object has, and another one or a station too."),
});
export type CellView = z.infer<typeof cellViewSchema>;

export const mapViewSchema = z
  .object({
    pool: z.string(),
    from: mac,
    to: mac,
    cells: z
      .array(cellViewSchema)
      .describe("In the order of the addresses; each as large as the others, or one smaller."),
    outOfRange: count.describe("Claims of the pool for addresses outside its ranges, which no cell has."),
  })
  .meta({ id: "Map" });
export type MapView = z.infer<typeof mapViewSchema>;

const namedObject = z.object({ kind: z.enum(OWNER_KINDS), name: z.string() });

const historyEntryViewSchema = z.object({
  at: time,
  what: z.enum(["created", "allocated", "bound", "refused", "shared", "released"]),
  code: z.string().exactOptional().describe("Of a refusal, as of a denial."),
  object: namedObject
    .exactOptional()
    .describe("What was refused, where it was not the object itself: its VMI, or a launcher pod."),
  mac: mac.exactOptional(),
  interface: z.string().exactOptional(),
  message: z.string(),
});
export type HistoryEntryView = z.infer<typeof historyEntryViewSchema>;

export const ownerHistoryViewSchema = z
  .object({
    kind: z.enum(OWNER_KINDS),
    namespace: z.string(),
    name: z.string(),
    exists: z.boolean().describe("Whether the object exists, as far as this replica knows."),
    ...placeView,
    interfaces: z.array(
      z.object({
        interface: z.string(),
        mac,
        claim: z.string().exactOptional().describe("Name of its MACClaim; absent while there is none."),
        phase: z.enum(SHOWN_PHASES).exactOptional(),
        origin: z.enum(CLAIM_ORIGINS).exactOptional(),
        network: z.string().exactOptional(),
        since: time.exactOptional(),
        holder: namedObject
          .exactOptional()
          .describe("Whose claim it is, where that is the VM of this VMI, or the VM or VMI of this launcher pod."),
        usedNow: usedNowSchema.exactOptional(),
        hostAddress,
      }),
    ),
    history: z.array(historyEntryViewSchema).describe("Newest first."),
    partial: z.array(z.string()).describe("Replicas that did not tell their refusals in time."),
  })
  .meta({ id: "OwnerHistory" });
export type OwnerHistoryView = z.infer<typeof ownerHistoryViewSchema>;

export const denialViewSchema = z
  .object({
    id: z.string(),
    at: time.describe("When it was refused last."),
    first: time.describe("When it was refused first."),
    count: count.describe("How often it was refused for this reason."),
    code: z.string().describe("Stable code of the reason, as MACPOOL_CONFLICT."),
    namespace: z.string(),
    kind: z.enum(OWNER_KINDS),
    name: z.string().describe("Name of the object, or its generateName followed by *."),
    interface: z.string().exactOptional(),
    mac: mac.exactOptional(),
    pool: z.string().exactOptional().describe("The MACPool that refused it, where the message names one."),
    message: z.string().describe("What the author of the object was told."),
    dryRun: z.boolean(),
    replica: z.string().describe("The replica that refused it."),
  })
  .meta({ id: "Denial" });
export type DenialView = z.infer<typeof denialViewSchema>;

export const namespaceViewSchema = z
  .object({
    name: z.string(),
    vms: z.boolean().describe("Whether VMs and VMIs of the namespace are managed."),
    pods: z.boolean().describe("Whether pods of the namespace are managed."),
    objectsMayOptOut: z
      .boolean()
      .exactOptional()
      .describe(
        "Whether the pool ignores a single object with the label `ignore`; absent in answers of earlier versions.",
      ),
    because: z
      .object({ vms: z.string(), pods: z.string(), objects: z.string().exactOptional() })
      .describe("The label or setting that decides, in words."),
    pool: z.string().exactOptional().describe("The MACPool that serves it; absent when none does."),
    claims: count.describe("Addresses that its objects have."),
    limit: count.exactOptional().describe("How many its objects can have; absent when there is no limit."),
  })
  .meta({ id: "Namespace" });
export type NamespaceView = z.infer<typeof namespaceViewSchema>;

export const checkViewSchema = z
  .object({
    mac,
    namespace: z.string(),
    accepted: z.boolean().describe("Whether a VM of the namespace that asks for the address is admitted now."),
    code: z.string().exactOptional().describe("Why not: the code of the refusal."),
    message: z.string(),
    pool: z.string().exactOptional().describe("The MACPool that serves the namespace."),
    inRange: z.boolean(),
    holders: z.array(ownerViewSchema).describe("Who has the address, as far as the reader may see it."),
    elsewhere: count.describe("Holders in other namespaces, which the reader may not see."),
    listedBy,
    ...besideView,
    hostAddress,
  })
  .meta({ id: "Check" });
export type CheckView = z.infer<typeof checkViewSchema>;

export const statusViewSchema = z
  .object({
    version: z.string(),
    replica: z.string(),
    pools: count,
    claims: count,
    collisions: count,
    denials: count.describe("Refusals that this replica remembers."),
    viewers: count.describe("Watches that this replica serves."),
  })
  .meta({ id: "Status" });
export type StatusView = z.infer<typeof statusViewSchema>;
