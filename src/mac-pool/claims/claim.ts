import { apiVersionOf, MAC_CLAIMS } from "../../api/kinds.ts";
import { claimName, formatMac, type Mac } from "../../api/mac.ts";
import {
  CLAIM_LABEL_KIND,
  CLAIM_LABEL_NAMESPACE,
  CLAIM_LABEL_PHASE,
  type ClaimOrigin,
  type ClaimOwner,
  describeOwners,
  distinctOwners,
  type MACClaim,
  type MacClaimStatus,
} from "../../api/mac-claim.ts";
import { MAC_POOL_GROUP } from "../../api/names.ts";
import type { ClaimFacts } from "../pools/pool.ts";

/** How a MACClaim is written: every write goes through withStatus, so labels and columns always agree with the status. */

const CLAIM_API_VERSION = apiVersionOf(MAC_CLAIMS);
const MAX_LABEL_CHARS = 63;
/** Labels of the former status, and the one that claims of earlier versions carry. */
const REPLACED_LABELS = [CLAIM_LABEL_KIND, CLAIM_LABEL_NAMESPACE, `${MAC_POOL_GROUP}/shard`];

export function newClaim(
  mac: Mac,
  spec: { readonly pool: string | undefined; readonly origin: ClaimOrigin },
  status: Omit<MacClaimStatus, "owner">,
): MACClaim {
  const { pool, origin } = spec;
  return {
    apiVersion: CLAIM_API_VERSION,
    kind: MAC_CLAIMS.kind,
    metadata: { name: claimName(mac), labels: claimLabels(status) },
    spec: pool === undefined ? { mac: formatMac(mac), origin } : { mac: formatMac(mac), pool, origin },
    status: { ...status, owner: describeOwners(status.owners) },
  };
}

/** The claim with another status; metadata.resourceVersion is kept, which makes the write conditional. */
export function withStatus(claim: MACClaim, status: Omit<MacClaimStatus, "owner">, origin?: ClaimOrigin): MACClaim {
  const labels = { ...claim.metadata.labels };
  for (const label of REPLACED_LABELS) delete labels[label];
  return {
    ...claim,
    metadata: { ...claim.metadata, labels: { ...labels, ...claimLabels(status) } },
    spec: origin === undefined ? claim.spec : { ...claim.spec, origin },
    status: { ...status, owner: describeOwners(status.owners) },
  };
}

/** A claim without a status (made by hand) counts as allocated without an owner: it ends when the wait for one is over. */
export function statusOf(claim: MACClaim): MacClaimStatus {
  return claim.status ?? { phase: "Allocated", owners: [] };
}

export function allocated(owners: readonly ClaimOwner[]): MacClaimStatus {
  return { phase: "Allocated", owners: [...owners] };
}

/**
 * Of owners of whom the last was admitted at this time. Only a leader of version 0.1 reads this `until`. It does not wait for a
 * creation that is under way: it deletes such a claim, but lets the address rest where the claim has `until`.
 */
export function admitted(owners: readonly ClaimOwner[], atMs: number, pendingMs: number): MacClaimStatus {
  return { ...allocated(owners), until: new Date(atMs + pendingMs).toISOString() };
}

/** The owner that was admitted to the address last. Its time is only good to tell one admission from another. */
export function lastAdmitted(claim: MACClaim): ClaimOwner | undefined {
  const [first, ...others] = statusOf(claim).owners;
  return others.reduce((last, owner) => (last === undefined || owner.since > last.since ? owner : last), first);
}

/** Whether somebody has been admitted between two versions of a claim, or may have been. */
export function isAdmission(claim: MACClaim, old: MACClaim | undefined): boolean {
  if (old === undefined || !isNextOf(claim, old)) return true;
  return (lastAdmitted(claim)?.since ?? "") > (lastAdmitted(old)?.since ?? "");
}

/** Whether nothing was written between two versions of a claim. */
export function isNextOf({ metadata: { uid, generation = 1 } }: MACClaim, { metadata: old }: MACClaim): boolean {
  return uid === old.uid && generation === (old.generation ?? 1) + 1;
}

export function factsOf(claim: MACClaim): ClaimFacts {
  const { phase, owners, until } = statusOf(claim);
  const { pool } = claim.spec;
  return {
    isQuarantined: phase === "Quarantined",
    pool,
    ownerCount: distinctOwners(owners).length,
    namespaces: [...new Set(owners.map(({ namespace }) => namespace))],
    untilMs: phase === "Quarantined" ? Date.parse(until ?? "") || 0 : 0,
  };
}

/** Listable by phase, and by namespace and kind of the first owner. A label value has 63 characters, as a namespace has. */
function claimLabels({ phase, owners }: Omit<MacClaimStatus, "owner">): Record<string, string> {
  const first = owners[0];
  if (first === undefined) return { [CLAIM_LABEL_PHASE]: phase };
  return {
    [CLAIM_LABEL_NAMESPACE]: first.namespace.slice(0, MAX_LABEL_CHARS),
    [CLAIM_LABEL_KIND]: first.kind,
    [CLAIM_LABEL_PHASE]: phase,
  };
}
