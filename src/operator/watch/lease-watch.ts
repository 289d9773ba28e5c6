/**
 * Which Leases of other programs are alive. Only observed time counts, because clocks of different machines are never
 * compared: a Lease that is seen for the first time may have been left behind long ago.
 */

import type { Lease } from "../../kube/client/built-in-kinds.ts";
import type { Clock } from "../../kube/clock.ts";
import { objectKey } from "../../kube/informer/informer.ts";
import { type LeaseSpec, type Observation, observe } from "../../kube/leader/lease-rules.ts";

interface Seen {
  readonly observation: Observation;
  readonly holder: string | undefined;
  /** The record changed since it was seen first. */
  readonly isProven: boolean;
}

const DEFAULT_DURATION_SECONDS = 15;

export class LeaseWatch {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True where somebody else may be alive now than before. Renewals come every two seconds and change nothing. */
  see(lease: Lease): boolean {
    const key = objectKey(lease);
    const before = this.#seen.get(key);
    const nowMs = this.#clock.monotonicMs();
    const observation = observe(before?.observation, lease.spec as LeaseSpec | undefined, nowMs);
    if (observation === before?.observation) return false;
    const holder = lease.spec?.holderIdentity || undefined;
    this.#seen.set(key, { observation, holder, isProven: before !== undefined });
    const wasSilent = before !== undefined && nowMs >= before.observation.sinceMs + durationMs(lease);
    return before === undefined || !before.isProven || before.holder !== holder || wasSilent;
  }

  forget(lease: Lease): void {
    this.#seen.delete(objectKey(lease));
  }

  /**
   * For how much longer its holder counts as alive. Undefined: released or silent. `atFirstSight`: also one that was not
   * renewed since it was seen first.
   */
  leftMs(lease: Lease, atFirstSight: boolean): number | undefined {
    const seen = this.#seen.get(objectKey(lease));
    if (seen?.holder === undefined || !(seen.isProven || atFirstSight)) return undefined;
    const leftMs = seen.observation.sinceMs + durationMs(lease) - this.#clock.monotonicMs();
    return leftMs > 0 ? leftMs : undefined;
  }
}

function durationMs({ spec }: Lease): number {
  return (spec?.leaseDurationSeconds ?? DEFAULT_DURATION_SECONDS) * 1_000;
}
