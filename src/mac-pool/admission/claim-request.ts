import type { Mac } from "../../api/mac.ts";
import type { MACClaim, MacClaimStatus } from "../../api/mac-claim.ts";
import type { Clock } from "../../kube/clock.ts";
import { admitted, newClaim } from "../claims/claim.ts";
import { isLastChoice } from "../claims/listing-objects.ts";
import type { NamedText } from "../claims/named-text.ts";
import { type InterfaceOwner, type ObjectReference, type ObservedOwner, ownerOf } from "../claims/owner.ts";
import type { MacField, Refusal } from "../claims/refusals.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";

/** What an interface asks for: this address, or any free one. */
export interface InterfaceRequest {
  readonly interface: string;
  readonly network: string | undefined;
  readonly mac: Mac | undefined;
  /** The object lists the address as it is stored. */
  readonly had: boolean;
  /** The layer-2 domain of the network, where it counts and is known. */
  readonly domain?: string | undefined;
}

export interface ClaimRequest {
  readonly ref: ObjectReference;
  readonly wantedInterfaces: readonly InterfaceRequest[];
  /**
   * Every address that the object lists. None of them is chosen for another of its interfaces: the claim would take both
   * for the same owner's.
   */
  readonly listed: ReadonlySet<Mac>;
  readonly pool: Pool | undefined;
  /** A VM that waits for a live migration, or has received one: sharing is no conflict. */
  readonly receiver: boolean;
  /** A VM that waits no longer: having waited with an address is no right to have it beside another. */
  readonly judgedAnew: boolean;
  readonly field: MacField;
  /** Everything is checked and nothing is written. */
  readonly dryRun: boolean;
}

export type ClaimResult =
  /** `macs` in the order of the interfaces. */
  | { readonly ok: true; readonly macs: readonly Mac[]; readonly warnings: readonly NamedText[] }
  | { readonly ok: false; readonly refusal: Refusal };

export interface Granted {
  readonly ok: true;
  readonly mac: Mac;
  readonly warnings?: readonly NamedText[];
  /** What was written, and what it replaced; absent on a dry run. */
  readonly written?: { readonly claim: MACClaim; readonly before: MACClaim | undefined };
}

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export type Outcome = Granted | Refused;

/** Of an admission: now, and how long what is admitted can be under way. */
export interface Times {
  readonly nowMs: number;
  readonly pendingMs: number;
}

export const timesOf = ({ clock, index }: { readonly clock: Clock; readonly index: PoolIndex }): Times => ({
  nowMs: clock.now(),
  pendingMs: index.pendingMs,
});

/** The claim that a request creates. */
export function claimOf(request: ClaimRequest, wanted: InterfaceRequest, mac: Mac, times: Times): MACClaim {
  const origin = wanted.mac === undefined ? "automatic" : "explicit";
  return newClaim(mac, { pool: request.pool?.name, origin }, statusFor(request, wanted, times));
}

/** Status of a claim that is the interface's alone. */
export function statusFor(
  request: ClaimRequest,
  wanted: InterfaceRequest,
  { nowMs, pendingMs }: Times,
): MacClaimStatus {
  return admitted([ownerOf(ownerFor(request, wanted), new Date(nowMs).toISOString())], nowMs, pendingMs);
}

export function ownerFor({ ref, receiver }: ClaimRequest, wanted: InterfaceRequest): InterfaceOwner {
  const { kind, namespace, name, generateName, uid } = ref;
  const domains = wanted.domain === undefined ? undefined : [wanted.domain];
  const placed = { interface: wanted.interface, network: wanted.network, domains };
  return { kind, namespace, name, generateName, uid, ...placed, receiver };
}

/** Names the interface that the update of an object asks an address for. The object has a UID. */
export const updateKey = ({ uid }: ObjectReference, wanted: InterfaceRequest): string => `${uid}/${wanted.interface}`;

interface Sources {
  readonly index: Pick<PoolIndex, "hosts">;
  readonly objectsListing: (mac: Mac) => readonly ObservedOwner[];
}

/** Addresses that a request is not given although no claim holds them: its object lists them, another does, or a node has them. */
export function excludedAddresses(listed: ReadonlySet<Mac>, { index, objectsListing }: Sources): (mac: Mac) => boolean {
  return (mac) => listed.has(mac) || index.hosts.has(mac) || objectsListing(mac).length > 0;
}

/** The same where the pool has nothing else: what objects only list is not among them. */
export function heldAddresses(listed: ReadonlySet<Mac>, { index, objectsListing }: Sources): (mac: Mac) => boolean {
  return (mac) => listed.has(mac) || index.hosts.has(mac) || !isLastChoice(objectsListing(mac));
}

/** Whether only networks that can meet are in conflict. */
export const isPerNetwork = ({ pool }: Pick<ClaimRequest, "pool">): boolean =>
  pool?.settings.conflictScope === "Network";

export function refuse(refusal: Refusal): Refused {
  return { ok: false, refusal };
}
