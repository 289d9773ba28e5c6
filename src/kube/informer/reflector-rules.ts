import type { Backoff } from "./backoff.ts";

export interface ReflectorRules {
  /** Objects a page of a list. */
  readonly pageSize: number;
  /** List in one piece, parsed while it arrives; if that fails, page by page. */
  readonly wholeList: boolean;
  readonly backoff: Backoff;
  /** Random in this range, so that informers do not renew their watches at the same time. */
  readonly watchTimeoutSeconds: { readonly min: number; readonly max: number };
  /** A resource that the API does not serve counts as synced and empty. */
  readonly absentIsEmpty: boolean;
  /** How soon to list an absent resource again: twice as long each time, up to the longest. */
  readonly absentRetryMs: number;
  readonly maxAbsentRetryMs: number;
  /** A watch that ended sooner and delivered nothing counts as a failure. */
  readonly shortWatchMs: number;
  /** After this many watches in a row that delivered nothing the informer lists: the version itself may be the cause. */
  readonly maxWatchFailures: number;
  /** Longest wait that the server may ask for. */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RULES: ReflectorRules = {
  pageSize: 500,
  wholeList: true,
  backoff: { baseMs: 1_600, maxMs: 30_000 },
  watchTimeoutSeconds: { min: 300, max: 600 },
  absentIsEmpty: false,
  absentRetryMs: 500,
  maxAbsentRetryMs: 500,
  shortWatchMs: 5_000,
  maxWatchFailures: 5,
  maxRetryAfterMs: 60_000,
};
