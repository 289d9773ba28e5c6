import { rfc3339Micro } from "../conditions.ts";

/**
 * The rules of a Lease, without I/O, as in client-go. Clocks of different machines are never compared: a holder counts as
 * gone when we have not seen its record change for the lease duration: its own or ours, whichever is longer.
 */
export interface LeaseSpec {
  readonly holderIdentity?: string | null | undefined;
  readonly leaseDurationSeconds?: number | null | undefined;
  readonly acquireTime?: string | null | undefined;
  readonly renewTime?: string | null | undefined;
  readonly leaseTransitions?: number | null | undefined;
}

/** The lease as last seen, and when (monotonic) it was first seen so. */
export interface Observation {
  readonly record: string;
  readonly sinceMs: number;
}

export function observe(previous: Observation | undefined, spec: LeaseSpec | undefined, nowMs: number): Observation {
  const { holderIdentity, leaseDurationSeconds, renewTime, acquireTime, leaseTransitions } = spec ?? {};
  const record = JSON.stringify([holderIdentity, leaseDurationSeconds, renewTime, acquireTime, leaseTransitions]);
  return previous?.record === record ? previous : { record, sinceMs: nowMs };
}

/** Whether `identity` may take the lease: it holds it, nobody holds it, or the holder has been silent for too long. */
export function mayHold(
  spec: LeaseSpec | undefined,
  observation: Observation,
  identity: string,
  leaseDurationMs: number,
  nowMs: number,
): boolean {
  const holder = spec?.holderIdentity;
  const durationMs = Math.max(leaseDurationMs, 1_000 * (spec?.leaseDurationSeconds ?? 0));
  return !holder || holder === identity || nowMs >= observation.sinceMs + durationMs;
}

/** The lease as we write it: taken over from somebody, or renewed. */
export function heldBy(spec: LeaseSpec | undefined, identity: string, leaseDurationMs: number, now: Date): LeaseSpec {
  const time = rfc3339Micro(now);
  const renewed = spec?.holderIdentity === identity;
  const transitions = spec?.leaseTransitions ?? 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.round(leaseDurationMs / 1000)),
    acquireTime: renewed ? (spec?.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: spec === undefined || renewed ? transitions : transitions + 1,
  };
}

/** The lease as its holder releases it, so the next leader does not wait. */
export function released(spec: LeaseSpec | undefined, now: Date): LeaseSpec {
  const time = rfc3339Micro(now);
  return {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: spec?.leaseTransitions ?? 0,
  };
}
