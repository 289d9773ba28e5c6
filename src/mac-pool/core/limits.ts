/** Bounds of the MAC pool, with the reason for each number. */

import { DEFAULT_PENDING_SECONDS } from "../../api/mac-pool.ts";

/** How long a pending claim is kept for an object that has not shown up, unless a pool says that requests live longer. */
export const PENDING_MS = DEFAULT_PENDING_SECONDS * 1000;

/** Of that, what is for the webhooks that run after ours. */
const OTHER_WEBHOOKS_MS = 45_000;

/**
 * How long an admitted start counts as running although its instance was not seen: the request lifetime of an API server
 * and a margin. A start that was refused after us blocks other holders of the address no longer than this.
 */
export const startingMs = (pendingMs: number): number => pendingMs - OTHER_WEBHOOKS_MS;

/** Webhook callers are not authenticated, so a flood of requests that never persist must end in a refusal. */
export const MAX_PENDING_PER_NAMESPACE = 2_000;
export const MAX_PENDING_PER_POOL = 20_000;

/** Two replicas rarely draw the same free address; this many times in a row means that the cache is far behind. */
export const MAX_ALLOCATION_TRIES = 32;

/** Conditional writes of one request that may lose against other writers. */
export const MAX_CLAIM_TRIES = 8;

/** Creations under one name that ask for the same address and may all be under way; more are taken for repetitions. */
export const MAX_CREATIONS_OF_ONE_NAME = 4;

/** Interfaces of one object; each costs an API write inside the webhook's time-out. */
export const MAX_INTERFACES = 128;

/** An address drawn here is not drawn again while its claim is on its way from the API server to the cache. */
export const RESERVATION_MS = 30_000;

/** A name in a refusal is cut here, so that a message stays readable. */
export const MAX_SHOWN_CHARS = 80;
