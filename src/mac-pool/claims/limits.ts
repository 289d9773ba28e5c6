/** Bounds of the MAC pool, with the reason for each number. */

import { DEFAULT_PENDING_SECONDS } from "../../api/mac-pool.ts";

/** How long a claim stays pending without its object. A MACPool may set a longer time. */
export const PENDING_MS = DEFAULT_PENDING_SECONDS * 1000;

/** The part of it that other webhooks may use after ours. */
const OTHER_WEBHOOKS_MS = 45_000;

/**
 * How long an admitted start counts as running before its instance is seen: the request timeout of the API server plus a
 * margin. A start that a later webhook refused blocks other owners of the address for this time.
 */
export const startingMs = (pendingMs: number): number => pendingMs - OTHER_WEBHOOKS_MS;

/**
 * After this time an object that was admitted should exist, with the webhooks after ours and the way into the caches. Its
 * claim counts for the limits below from then on, so that they meet no burst, however large, of objects that get stored.
 */
export const OVERDUE_AFTER_MS = 10_000;

/** Webhook callers are not authenticated: a flood of requests whose objects are never stored must be refused. */
const MAX_OVERDUE_PER_NAMESPACE = 2_000;
export const MAX_OVERDUE_PER_POOL = 20_000;
/** In a small pool a few objects that are refused after admission are no flood. */
export const MIN_OVERDUE_PER_NAMESPACE = 8;

/** Overdue claims that a namespace may have: a quarter of the pool that serves it, within bounds. */
export const maxOverdueInNamespace = (capacity: number): number =>
  Math.min(MAX_OVERDUE_PER_NAMESPACE, Math.max(MIN_OVERDUE_PER_NAMESPACE, Math.floor(capacity / 4)));

/**
 * Claims of a namespace whose objects are on their way, and addresses of its reviews under way: half the pool that serves
 * it, within bounds. Far more than the API server and its caches ever have on their way, and what forged reviews can take
 * before their claims are overdue.
 */
export const maxPendingInNamespace = (capacity: number): number =>
  Math.min(8_000, Math.max(2 * MAX_INTERFACES, Math.floor(capacity / 2)));

/** Two replicas rarely pick the same free address. So many times in a row mean a stale cache. */
export const MAX_ALLOCATION_TRIES = 32;

/** Addresses without a claim that one request finds listed by objects: 10 ms. The next request looks at others. */
export const MAX_LISTED_DRAWS = 10_000;

/** Conflicts with other writers that one request survives. */
export const MAX_CLAIM_TRIES = 8;

/** Interfaces of one object; each costs an API write inside the webhook's time-out. */
export const MAX_INTERFACES = 128;

/** An address drawn here is not drawn again while its claim is on its way from the API server to the cache. */
export const RESERVATION_MS = 30_000;

/** A name in a refusal is cut here, so that a message stays readable. */
export const MAX_SHOWN_CHARS = 80;
