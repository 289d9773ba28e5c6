import type { ClaimOrigin, ClaimOwner, ClaimPhase } from "../../api/mac-claim.ts";
import type { PoolCounts } from "../core/pool.ts";

/** What inspection answers, as JSON. Imported, as types, by the CLI and the page. */

export interface OwnerView extends ClaimOwner {
  /** Where it runs now; absent when it does not. */
  readonly node?: string;
  /** The pod that runs it: the launcher of a VM, or the pod itself. */
  readonly pod?: string;
}

export interface ClaimView {
  readonly name: string;
  readonly mac: string;
  readonly pool?: string;
  readonly origin: ClaimOrigin;
  readonly phase: ClaimPhase;
  readonly owners: readonly OwnerView[];
  readonly inRange: boolean;
  readonly created?: string;
  readonly deadline?: string;
  readonly until?: string;
}

export interface PoolView extends PoolCounts {
  readonly name: string;
  readonly ranges: readonly string[];
  readonly conflictPolicy: string;
  readonly conflictScope: string;
  readonly quarantineSeconds: number;
  /** What is wrong with its spec. */
  readonly problem?: string;
}

export interface ListView<T> {
  readonly items: readonly T[];
  /** Ask again with `?continue=` for the next items; absent on the last page. */
  readonly continue?: string;
  /** Number of all that match. */
  readonly total: number;
}
