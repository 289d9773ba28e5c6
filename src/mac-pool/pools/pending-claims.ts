import type { Mac } from "../../api/mac.ts";
import { OVERDUE_AFTER_MS } from "../claims/limits.ts";
import { NamespaceCounts } from "./namespace-counts.ts";

interface Pending {
  /** When this process saw it first, by the monotonic clock. */
  readonly sinceMs: number;
  readonly namespaces: readonly string[];
  /** Whether this process has seen everything that happened since the claim was created. */
  isWatched: boolean;
}

export type PendingChange = "pending" | "listed" | "gone";

/**
 * Claims that wait for an object: no object has listed the address since it was last allocated. One is overdue when its object is
 * missing for longer than a healthy creation takes.
 */
export class PendingClaims {
  /** Both in the order in which this process saw them first. */
  readonly #fresh = new Map<Mac, Pending>();
  readonly #overdue = new Map<Mac, Pending>();
  readonly #freshIn = new NamespaceCounts();
  readonly #overdueIn = new NamespaceCounts();
  readonly #listeners = new Set<(mac: Mac, change: PendingChange) => void>();

  /** The listener gets each claim that becomes pending, overdue or neither. Returns what ends that. */
  onChange(listener: (mac: Mac, change: PendingChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get size(): number {
    return this.#fresh.size + this.#overdue.size;
  }

  has(mac: Mac): boolean {
    return this.#fresh.has(mac) || this.#overdue.has(mac);
  }

  /** Known already, it keeps its age. */
  set(mac: Mac, namespaces: readonly string[], nowMs: number, isWatched: boolean): void {
    const known = this.#fresh.get(mac) ?? this.#overdue.get(mac);
    const pending = { sinceMs: nowMs, isWatched, ...known, namespaces };
    const isOverdue = this.#overdue.has(mac);
    this.#countIn(isOverdue, known, -1);
    this.#countIn(isOverdue, pending, 1);
    (isOverdue ? this.#overdue : this.#fresh).set(mac, pending);
    if (known === undefined) this.#notify(mac, "pending");
  }

  /** An object lists the address. */
  list(mac: Mac): void {
    this.#end(mac, "listed");
  }

  /** The claim is not there any more, or rests. */
  forget(mac: Mac): void {
    this.#end(mac, "gone");
  }

  /** This process may have missed something. */
  doubt(): void {
    for (const claims of [this.#fresh, this.#overdue]) for (const pending of claims.values()) pending.isWatched = false;
  }

  /** Whether no object has ever listed the address of the claim, as this process has seen. */
  wasNeverListed(mac: Mac): boolean {
    return (this.#fresh.get(mac) ?? this.#overdue.get(mac))?.isWatched ?? false;
  }

  /** Claims of a namespace whose objects are still on their way. */
  freshIn(namespace: string, nowMs: number): number {
    this.#age(nowMs);
    return this.#freshIn.in(namespace);
  }

  overdueIn(namespace: string, nowMs: number): number {
    this.#age(nowMs);
    return this.#overdueIn.in(namespace);
  }

  /** Overdue claims of all namespaces. */
  get overdue(): Iterable<Mac> {
    return this.#overdue.keys();
  }

  get overdueCount(): number {
    return this.#overdue.size;
  }

  /** Those that have waited for so long. */
  *olderThan(ms: number, nowMs: number): Generator<Mac> {
    for (const claims of [this.#overdue, this.#fresh]) {
      for (const [mac, { sinceMs }] of claims) {
        if (nowMs - sinceMs < ms) break;
        yield mac;
      }
    }
  }

  /** When the oldest of those that are meant was seen first. */
  oldestMs(isMeant: (mac: Mac) => boolean): number | undefined {
    for (const pending of [this.#overdue, this.#fresh]) {
      for (const [mac, { sinceMs }] of pending) if (isMeant(mac)) return sinceMs;
    }
    return undefined;
  }

  #age(nowMs: number): void {
    for (const [mac, pending] of this.#fresh) {
      if (nowMs - pending.sinceMs < OVERDUE_AFTER_MS) return;
      this.#fresh.delete(mac);
      this.#countIn(false, pending, -1);
      this.#overdue.set(mac, pending);
      this.#countIn(true, pending, 1);
    }
  }

  #countIn(isOverdue: boolean, pending: Pending | undefined, by: 1 | -1): void {
    if (pending !== undefined) (isOverdue ? this.#overdueIn : this.#freshIn).change(pending.namespaces, by);
  }

  #end(mac: Mac, change: PendingChange): void {
    this.#countIn(false, this.#fresh.get(mac), -1);
    this.#countIn(true, this.#overdue.get(mac), -1);
    if (this.#fresh.delete(mac) || this.#overdue.delete(mac)) this.#notify(mac, change);
  }

  #notify(mac: Mac, change: PendingChange): void {
    for (const listener of this.#listeners) listener(mac, change);
  }
}
