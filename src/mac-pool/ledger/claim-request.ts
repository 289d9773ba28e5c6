import type { Mac } from "../../api/mac.ts";
import type { MACClaim, MacClaimStatus } from "../../api/mac-claim.ts";
import { newClaim } from "../core/claim.ts";
import { pendingStatus } from "../core/grant.ts";
import type { NamedText } from "../core/named-text.ts";
import { type Holder, ownerOf, type Party } from "../core/party.ts";
import type { Pool } from "../core/pool.ts";
import type { MacField, Refusal } from "../core/refusals.ts";

/** One interface's wish: this address, or any free one. */
export interface Wish {
  readonly interface: string;
  readonly network: string | undefined;
  readonly mac: Mac | undefined;
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

interface Times {
  readonly nowMs: number;
  readonly pendingMs: number;
}

/** The claim that a wish creates, for as long as its object is waited for. */
export function pendingClaim(request: ClaimRequest, wish: Wish, mac: Mac, times: Times): MACClaim {
  const origin = wish.mac === undefined ? "automatic" : "explicit";
  return newClaim(mac, { pool: request.pool?.name, origin }, pendingFor(request, wish, times));
}

/** Status of a claim that is the wish's alone. */
export function pendingFor(
  request: ClaimRequest,
  wish: Wish,
  { nowMs, pendingMs }: Times,
  until?: string,
): MacClaimStatus {
  const { since, deadline } = timesOf(nowMs, nowMs + pendingMs);
  return pendingStatus([ownerOf(holderOf(request, wish), since)], deadline, until);
}

let lastTimes = { sinceMs: Number.NaN, deadlineMs: Number.NaN, since: "", deadline: "" };

/** Keeps the last ones: the claims of one request are made in the same millisecond, and writing a time is slow. */
function timesOf(sinceMs: number, deadlineMs: number): typeof lastTimes {
  if (sinceMs !== lastTimes.sinceMs || deadlineMs !== lastTimes.deadlineMs) {
    const [since, deadline] = [new Date(sinceMs).toISOString(), new Date(deadlineMs).toISOString()];
    lastTimes = { sinceMs, deadlineMs, since, deadline };
  }
  return lastTimes;
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
