import { parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner, MACClaim, MacClaimStatus } from "../../../src/api/mac-claim.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import { type LifecycleInput, nextStep } from "../../../src/mac-pool/claims/lifecycle.ts";
import type { ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";

/** Claims, observed owners and steps in few words. */

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);
export const NOW = Date.parse("2026-01-01T00:00:00Z");
export const SINCE = "2025-12-31T00:00:00.000Z";
export const QUARANTINE_MS = 60_000;

export function owner(more: Partial<ClaimOwner> = {}): ClaimOwner {
  return { kind: "VirtualMachine", namespace: "default", name: "web", interface: "a", since: SINCE, ...more };
}

export function observed(more: Partial<ObservedOwner> = {}): ObservedOwner {
  return {
    kind: "VirtualMachine",
    namespace: "default",
    name: "web",
    uid: "u1",
    interface: "a",
    countsAsOwner: true,
    ...more,
  };
}

export function claim(status: MacClaimStatus): MACClaim {
  const made = newClaim(MAC, { pool: "default", origin: "automatic" }, status);
  return { ...made, metadata: { ...made.metadata, resourceVersion: "7" } };
}

export const allocatedTo = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Allocated", owners });

export function step(
  existing: MACClaim | undefined,
  observedOwners: readonly ObservedOwner[],
  more: Partial<LifecycleInput> = {},
) {
  const next = nextStep({
    mac: MAC,
    claim: existing,
    observedOwners,
    isAwaited: false,
    wasNeverListed: false,
    isQuarantineOver: false,
    nowMs: NOW,
    quarantineMs: QUARANTINE_MS,
    adoptAs: undefined,
    ...more,
  });
  if (next.action === "none") return { action: next.action };
  const isLeak = next.action === "delete" ? { isLeak: next.isLeak } : {};
  const { status, spec, metadata } = next.claim;
  return { action: next.action, ...isLeak, ...status, origin: spec.origin, version: metadata.resourceVersion };
}
