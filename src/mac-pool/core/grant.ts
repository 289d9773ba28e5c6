import type { Mac } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim, MacClaimStatus } from "../../api/mac-claim.ts";
import type { ConflictPolicy } from "../../api/mac-pool.ts";
import { statusOf, withStatus } from "./claim.ts";
import { MAX_CREATIONS_OF_ONE_NAME, PENDING_MS } from "./limits.ts";
import { type Holder, ownerOf, sameParty } from "./party.ts";
import { conflict, type MacField, type Refusal, sharedWarning } from "./refusals.ts";

/** A request for one address, as admission makes it. */
export interface GrantRequest {
  readonly mac: Mac;
  readonly holder: Holder;
  readonly policy: ConflictPolicy;
  /** A VM that waits to receive a live migration has the addresses of the VM it will be. */
  readonly receiver: boolean;
  readonly field: MacField;
}

export type GrantDecision =
  | { readonly ok: true; readonly claim: MACClaim; readonly warning?: string }
  | { readonly ok: false; readonly refusal: Refusal };

/** Status of a claim that admission writes before it answers. */
export function pendingStatus(owners: readonly ClaimOwner[], nowMs: number, until?: string): MacClaimStatus {
  return {
    phase: "Pending",
    owners: [...owners],
    deadline: new Date(nowMs + PENDING_MS).toISOString(),
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
 */
export function decideGrant(claim: MACClaim, request: GrantRequest, nowMs: number): GrantDecision {
  const status = statusOf(claim);
  const owner = ownerOf(request.holder, new Date(nowMs).toISOString());
  if (status.phase === "Quarantined" || status.owners.length === 0) {
    return { ok: true, claim: withStatus(claim, pendingStatus([owner], nowMs, status.until), "explicit") };
  }
  const grant = (owners: readonly ClaimOwner[]): MACClaim =>
    withStatus(claim, pendingStatus(owners, nowMs, status.until));
  if (status.owners.some((known) => sameParty(known, request.holder))) {
    const isTwin = (known: ClaimOwner): boolean => sameParty(known, request.holder) && known.uid === request.holder.uid;
    const twin = status.owners.findLastIndex(isTwin);
    const mayBeAnother =
      request.holder.uid === undefined && status.owners.filter(isTwin).length < MAX_CREATIONS_OF_ONE_NAME;
    if (twin < 0 || mayBeAnother) return { ok: true, claim: grant([...status.owners, owner]) };
    return {
      ok: true,
      claim: grant(status.owners.map((known, i) => (i === twin ? { ...known, ...owner, since: known.since } : known))),
    };
  }
  if (request.receiver) return { ok: true, claim: grant([...status.owners, owner]) };
  if (mayShare(request)) {
    const exclusive = request.policy === "DenyRunning";
    const warning = sharedWarning(request.mac, request.holder.interface, status.owners, exclusive);
    return { ok: true, claim: grant([...status.owners, owner]), warning };
  }
  return { ok: false, refusal: conflict(request.mac, request.holder.interface, status.owners, request.field) };
}

/** Under DenyRunning a VM may exist beside the holder, as long as it does not run; whatever runs by existing may not. */
function mayShare({ policy, holder }: GrantRequest): boolean {
  return policy === "Warn" || (policy === "DenyRunning" && holder.kind === "VirtualMachine");
}
