import type { Mac } from "../../api/mac.ts";
import {
  type ClaimOwner,
  distinctOwners,
  isNamesake,
  type MACClaim,
  MAX_CLAIM_OWNERS,
  type MacClaimStatus,
} from "../../api/mac-claim.ts";
import type { ConflictPolicy } from "../../api/mac-pool.ts";
import { statusOf, withStatus } from "./claim.ts";
import { isoTime } from "./iso-time.ts";
import { MAX_CREATIONS_OF_ONE_NAME } from "./limits.ts";
import { type Holder, ownerOf, sameParty } from "./party.ts";
import { conflict, type MacField, type Refusal, sharedTooOften, sharedWarning } from "./refusals.ts";

/** A request for one address, as admission makes it. */
export interface GrantRequest {
  readonly mac: Mac;
  readonly holder: Holder;
  readonly policy: ConflictPolicy;
  /** A VM that waits to receive a live migration has the addresses of the VM it will be. */
  readonly receiver: boolean;
  readonly field: MacField;
  /** How long its object is waited for. */
  readonly pendingMs: number;
}

export type GrantDecision =
  | { readonly ok: true; readonly claim: MACClaim; readonly warning?: string }
  | { readonly ok: false; readonly refusal: Refusal };

/** Status of a claim that admission writes before it answers. */
export function pendingStatus(owners: readonly ClaimOwner[], deadlineMs: number, until?: string): MacClaimStatus {
  return {
    phase: "Pending",
    owners: [...owners],
    deadline: isoTime(deadlineMs),
    ...(until === undefined ? {} : { until }),
  };
}

/**
 * What happens when the address already has a claim. An answer that grants is always a claim to write under its
 * resourceVersion, also where the owner does not change: the write is what stops a release that is under way.
 *
 * A creation under the name of an owner that was seen is a second owner without UID: the object that it will become is
 * not the one that was seen. Who of them stays is decided when the object shows up, or at the deadline.
 * So is a creation under a name for which another is under way: nobody can tell whether it is the same request again,
 * and when both get stored, the second after the deletion of the first, each needs the claim.
 *
 * Having the address already, or the name of who has it, settles nothing towards other owners: the policy does, but for
 * the very object that has it, and for whoever waits for a migration. A request that is asked again is warned again.
 */
export function decideGrant(claim: MACClaim, request: GrantRequest, nowMs: number): GrantDecision {
  const { holder, mac, pendingMs } = request;
  const status = statusOf(claim);
  const deadlineMs = nowMs + pendingMs;
  const owner = ownerOf(holder, sinceFor(status.owners, nowMs));
  if (status.phase === "Quarantined" || status.owners.length === 0) {
    return { ok: true, claim: withStatus(claim, pendingStatus([owner], deadlineMs, status.until), "explicit") };
  }
  const isOwner = status.owners.some((known) => sameParty(known, holder));
  const others = distinctOwners(isOwner ? status.owners.filter((known) => !isNamesake(known, holder)) : status.owners);
  const hasIt = holder.uid !== undefined && status.owners.some(({ uid }) => uid === holder.uid);
  if (others.length > 0 && !hasIt && !request.receiver && !mayShare(request)) {
    return { ok: false, refusal: conflict(mac, holder.interface, others, request) };
  }
  const owners = withOwner(status.owners, owner, holder);
  if (owners.length > MAX_CLAIM_OWNERS) {
    return { ok: false, refusal: sharedTooOften(mac, holder.interface, request.field) };
  }
  const granted = withStatus(claim, { ...pendingStatus(owners, deadlineMs, status.until), phase: status.phase });
  if (others.length === 0 || request.receiver) return { ok: true, claim: granted };
  const warning = sharedWarning(mac, holder.interface, others, request.policy === "DenyRunning");
  return { ok: true, claim: granted, warning };
}

function withOwner(owners: readonly ClaimOwner[], owner: ClaimOwner, holder: Holder): readonly ClaimOwner[] {
  const isTwin = (known: ClaimOwner): boolean => sameParty(known, holder) && known.uid === holder.uid;
  const twin = owners.findLastIndex(isTwin);
  const mayBeAnother = holder.uid === undefined && owners.filter(isTwin).length < MAX_CREATIONS_OF_ONE_NAME;
  if (twin < 0 || mayBeAnother) return [...owners, owner];
  if (holder.uid !== undefined) return owners.map((known, i) => (i === twin ? { ...known, ...owner } : known));
  // Those that are listed stand for one more: all of them are waited for as long as for the last.
  return owners.map((known) => (isTwin(known) ? { ...known, ...owner } : known));
}

/**
 * The time of an admission: later than that of any other owner, whatever the clock of its replica said. The wait for an
 * owner is counted anew when this changes.
 */
function sinceFor(owners: readonly ClaimOwner[], nowMs: number): string {
  const latestMs = Math.max(...owners.map(({ since }) => Date.parse(since) || 0));
  return new Date(Math.max(nowMs, latestMs + 1)).toISOString();
}

/** Under DenyRunning a VM may exist beside the holder, as long as it does not run; whatever runs by existing may not. */
function mayShare({ policy, holder }: GrantRequest): boolean {
  return policy === "Warn" || (policy === "DenyRunning" && holder.kind === "VirtualMachine");
}
