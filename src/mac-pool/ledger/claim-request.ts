import type { Mac } from "../../api/mac.ts";
import type { MACClaim, MacClaimStatus } from "../../api/mac-claim.ts";
import { allocated, newClaim } from "../core/claim.ts";
import type { NamedText } from "../core/named-text.ts";
import { type Holder, ownerOf, type Party } from "../core/party.ts";
import type { Pool } from "../core/pool.ts";
import type { MacField, Refusal } from "../core/refusals.ts";

/** One interface's wish: this address, or any free one. */
export interface Wish {
  readonly interface: string;
  readonly network: string | undefined;
  readonly mac: Mac | undefined;
  /** The object lists the address as it is stored. */
  readonly had: boolean;
  /** The layer-2 domain of the network, where it counts and is known. */
  readonly domain?: string | undefined;
}

export interface ClaimRequest {
  readonly party: Party;
  readonly wishes: readonly Wish[];
  /**
   * Every address that the object lists. None of them is chosen for another of its interfaces: the claim would take both
   * for the same owner's.
   */
  readonly listed: ReadonlySet<Mac>;
  readonly pool: Pool | undefined;
  /** A VM that waits for a live migration, or has received one: sharing is no conflict. */
  readonly receiver: boolean;
  readonly field: MacField;
  /** Everything is checked and nothing is written. */
  readonly dryRun: boolean;
}

export type ClaimResult =
  /** `macs` in the order of the wishes. */
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

/** The claim that a wish creates. */
export function claimOf(request: ClaimRequest, wish: Wish, mac: Mac, nowMs: number): MACClaim {
  const origin = wish.mac === undefined ? "automatic" : "explicit";
  return newClaim(mac, { pool: request.pool?.name, origin }, statusFor(request, wish, nowMs));
}

/** Status of a claim that is the wish's alone. */
export function statusFor(request: ClaimRequest, wish: Wish, nowMs: number): MacClaimStatus {
  return allocated([ownerOf(holderOf(request, wish), textOf(nowMs))]);
}

let last = { nowMs: Number.NaN, text: "" };

/** Keeps the last one: the claims of one request are made in the same millisecond, and writing a time is slow. */
function textOf(nowMs: number): string {
  if (nowMs !== last.nowMs) last = { nowMs, text: new Date(nowMs).toISOString() };
  return last.text;
}

export function holderOf({ party, receiver }: ClaimRequest, wish: Wish): Holder {
  const { kind, namespace, name, generateName, uid } = party;
  const domains = wish.domain === undefined ? undefined : [wish.domain];
  const placed = { interface: wish.interface, network: wish.network, domains };
  return { kind, namespace, name, generateName, uid, ...placed, receiver };
}

/** Names the interface that the update of an object asks an address for. The object has a UID. */
export const updateKey = ({ uid }: Party, wish: Wish): string => `${uid}/${wish.interface}`;

/** Whether only networks that can meet are in conflict. */
export const isPerNetwork = ({ pool }: Pick<ClaimRequest, "pool">): boolean =>
  pool?.settings.conflictScope === "Network";

export function refuse(refusal: Refusal): Refused {
  return { ok: false, refusal };
}
