import { apiVersionOf, MAC_CLAIMS } from "../../api/kinds.ts";
import { claimName, formatMac, type Mac } from "../../api/mac.ts";
import {
  CLAIM_LABEL_KIND,
  CLAIM_LABEL_NAMESPACE,
  CLAIM_LABEL_PHASE,
  CLAIM_LABEL_SHARD,
  type ClaimOrigin,
  describeOwners,
  distinctOwners,
  type MACClaim,
  type MacClaimStatus,
} from "../../api/mac-claim.ts";
import type { ClaimFacts } from "./pool.ts";

/** How a MACClaim is written: every write goes through withStatus, so labels and columns always agree with the status. */

const CLAIM_API_VERSION = apiVersionOf(MAC_CLAIMS);
const MAX_LABEL_CHARS = 63;
const SHARDS = 4;

/** Halves of all claims; those that were written before they had the label are in the second. */
export const CLAIM_SHARDS = { label: CLAIM_LABEL_SHARD, values: [["0", "1"]] } as const;

export function newClaim(
  mac: Mac,
  spec: { readonly pool: string | undefined; readonly origin: ClaimOrigin },
  status: Omit<MacClaimStatus, "owner">,
): MACClaim {
  const { pool, origin } = spec;
  return {
    apiVersion: CLAIM_API_VERSION,
    kind: MAC_CLAIMS.kind,
    metadata: { name: claimName(mac), labels: claimLabels(formatMac(mac), status) },
    spec: pool === undefined ? { mac: formatMac(mac), origin } : { mac: formatMac(mac), pool, origin },
    status: { ...status, owner: describeOwners(status.owners) },
  };
}

/** The claim with another status; metadata.resourceVersion is kept, which makes the write conditional. */
export function withStatus(claim: MACClaim, status: Omit<MacClaimStatus, "owner">, origin?: ClaimOrigin): MACClaim {
  const { [CLAIM_LABEL_KIND]: _kind, [CLAIM_LABEL_NAMESPACE]: _namespace, ...labels } = claim.metadata.labels ?? {};
  return {
    ...claim,
    metadata: {
      ...claim.metadata,
      labels: { ...labels, ...claimLabels(claim.spec.mac, status) },
    },
    spec: origin === undefined ? claim.spec : { ...claim.spec, origin },
    status: { ...status, owner: describeOwners(status.owners) },
  };
}

/** A claim without a status (made by hand) counts as pending without an owner: the sweep removes it. */
export function statusOf(claim: MACClaim): MacClaimStatus {
  return claim.status ?? { phase: "Pending", owners: [] };
}

/** Whether somebody was admitted who has not been seen and whose deadline the claim knows, or should. */
export function isWaiting(status: MacClaimStatus): boolean {
  return status.phase === "Pending" || (status.phase === "Bound" && status.deadline !== undefined);
}

export function factsOf(claim: MACClaim): ClaimFacts {
  const { phase, owners, until } = statusOf(claim);
  const { pool } = claim.spec;
  if (phase === "Bound" && owners.length === 1) return boundFacts(pool);
  const namespaces = phase === "Pending" ? owners.map((owner) => owner.namespace) : [];
  return {
    phase,
    pool,
    ownerCount: distinctOwners(owners).length,
    pendingNamespaces: [...new Set(namespaces)],
    untilMs: Date.parse(until ?? "") || 0,
  };
}

const boundFactsOfPool = new Map<string | undefined, ClaimFacts>();

/** Nearly all claims are bound to one owner: one object for all of a pool. */
function boundFacts(pool: string | undefined): ClaimFacts {
  let facts = boundFactsOfPool.get(pool);
  if (facts === undefined) {
    facts = { phase: "Bound", pool, ownerCount: 1, pendingNamespaces: [], untilMs: 0 };
    boundFactsOfPool.set(pool, facts);
  }
  return facts;
}

/**
 * Listable by phase, and by namespace and kind of the first owner. A label value has 63 characters, as a namespace has.
 * By assignments: V8 takes ten times as long for computed keys of a literal.
 */
function claimLabels(mac: string, { phase, owners }: Omit<MacClaimStatus, "owner">): Record<string, string> {
  const labels: Record<string, string> = {};
  const first = owners[0];
  if (first !== undefined) {
    labels[CLAIM_LABEL_NAMESPACE] = first.namespace.slice(0, MAX_LABEL_CHARS);
    labels[CLAIM_LABEL_KIND] = first.kind;
  }
  labels[CLAIM_LABEL_PHASE] = phase;
  labels[CLAIM_LABEL_SHARD] = String(Number.parseInt(mac.slice(-1), 16) % SHARDS);
  return labels;
}
