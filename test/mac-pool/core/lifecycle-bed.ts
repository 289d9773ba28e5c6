import { parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner, MACClaim, MacClaimStatus } from "../../../src/api/mac-claim.ts";
import { newClaim } from "../../../src/mac-pool/core/claim.ts";
import { type Evidence, isSettled, type LifecycleInput, nextStep } from "../../../src/mac-pool/core/lifecycle.ts";
import type { Party, Sighting } from "../../../src/mac-pool/core/party.ts";

/** Claims, sightings and steps in few words. */

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);
export const NOW = Date.parse("2026-01-01T00:00:00Z");
export const SINCE = "2025-12-31T00:00:00.000Z";
export const QUARANTINE_MS = 60_000;
export const NOTHING: Evidence = { holders: [], existing: [] };

export function owner(more: Partial<ClaimOwner> = {}): ClaimOwner {
  return { kind: "VirtualMachine", namespace: "default", name: "web", interface: "a", since: SINCE, ...more };
}

export function sighting(more: Partial<Sighting> = {}): Sighting {
  return {
    kind: "VirtualMachine",
    namespace: "default",
    name: "web",
    uid: "u1",
    interface: "a",
    adoptable: true,
    confirms: true,
    ...more,
  };
}

export function claim(status: MacClaimStatus): MACClaim {
  const made = newClaim(MAC, { pool: "default", origin: "automatic" }, status);
  return { ...made, metadata: { ...made.metadata, resourceVersion: "7" } };
}

export interface Asked extends Partial<LifecycleInput> {
  /** All owners of the claim have been waited for long enough. */
  readonly deadlineOver?: boolean;
  readonly created?: readonly Party[];
}

export function step(
  existing: MACClaim | undefined,
  evidence: Evidence,
  { deadlineOver = false, created = [], ...more }: Asked = {},
) {
  const input: LifecycleInput = {
    mac: MAC,
    claim: existing,
    evidence: { ...evidence, created },
    overdue: new Set(deadlineOver ? existing?.status?.owners : []),
    restOver: false,
    nowMs: NOW,
    quarantineMs: QUARANTINE_MS,
    adoptAs: undefined,
    ...more,
  };
  const next = nextStep(input);
  if (next.action === "none") return { action: next.action };
  return { action: next.action, ...next.claim.status, version: next.claim.metadata.resourceVersion };
}

export const pending = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Pending", owners, deadline: SINCE });
export const bound = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Bound", owners });
export const settled = (
  existing: MACClaim | undefined,
  cached: readonly Sighting[],
  overdue: readonly ClaimOwner[] = [],
  created: readonly Party[] = [],
) => isSettled(existing, { holders: cached, existing: existing?.status?.owners ?? [], created }, new Set(overdue));
export const seen = (...holders: Sighting[]): Evidence => ({ holders, existing: holders });
