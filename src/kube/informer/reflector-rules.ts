import type { Backoff } from "../queue/backoff.ts";

export interface ReflectorRules {
  /** Objects a page of a list. */
  readonly pageSize: number;
  /** Ask for a list in one piece, which is taken apart as it comes; if that breaks go page by page. */
  readonly wholeList: boolean;
  /** Ask for a list in shards first, if `wholeList`; if that fails in one piece. */
  readonly sharded: boolean;
  /** Get the objects by a stream instead of a list where the server can. */
  readonly watchList: boolean;
  /** So many streams that broke before their initial events were complete: list from then on. */
  readonly maxStreamFailures: number;
  /** A stream that delivers nothing for so long before its initial events are complete counts as not understood. */
  readonly initialQuietMs: number;
  readonly backoff: Backoff;
  /** Many informers must not renew their watches at the same time. */
  readonly watchTimeoutSeconds: { readonly min: number; readonly max: number };
  /** A resource that the API does not serve counts as synced and empty. */
  readonly absentIsEmpty: boolean;
  /** How soon to look again for an absent resource. */
  readonly absentRetryMs: number;
  /** A watch that ended sooner and delivered nothing counts as a failure, or we would spin. */
  readonly shortWatchMs: number;
  /** So many watches in a row that delivered nothing: the version itself may be the trouble, list again. */
  readonly maxWatchFailures: number;
  /** Longest wait the server may ask for. */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RULES: ReflectorRules = {
  pageSize: 500,
  wholeList: true,
  sharded: false,
  watchList: false,
  maxStreamFailures: 2,
  initialQuietMs: 10_000,
  backoff: { baseMs: 1_600, maxMs: 30_000 },
  watchTimeoutSeconds: { min: 300, max: 600 },
  absentIsEmpty: false,
  absentRetryMs: 500,
  shortWatchMs: 5_000,
  maxWatchFailures: 5,
  maxRetryAfterMs: 60_000,
};
