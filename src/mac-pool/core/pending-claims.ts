import type { Mac } from "../../api/mac.ts";
import { LATE_AFTER_MS } from "./limits.ts";
import { NamespaceCounts } from "./namespace-counts.ts";

interface Pending {
  /** When this process saw it first, by the monotonic clock. */
  readonly sinceMs: number;
  readonly namespaces: readonly string[];
}

/**
 * Claims that wait for an object that was admitted. One is late when its object is missing for longer than a healthy
 * creation takes. What was created by then is never late: its claim waits for the leader and not for its object. Nor is the
 * address of an object that was seen and is gone, while another may be what was admitted.
 */
export class PendingClaims {
  /** Both in the order in which this process saw them first. */
  readonly #fresh = new Map<Mac, Pending>();
  readonly #late = new Map<Mac, Pending>();
  /** Address that an object had -> since when the claim waits again. */
  readonly #again = new Map<Mac, number>();
  readonly #freshIn = new NamespaceCounts();
  readonly #lateIn = new NamespaceCounts();

  /** Known already, it keeps its age. `wasHeld`: until now an object had the address. */
  set(mac: Mac, namespaces: readonly string[], nowMs: number, wasHeld = false): void {
    if (wasHeld) this.#again.set(mac, nowMs);
    if (this.#again.has(mac)) return;
    const late = this.#late.get(mac);
    if (late === undefined) {
      const known = this.#fresh.get(mac);
      if (known !== undefined) this.#freshIn.change(known.namespaces, -1);
      this.#fresh.set(mac, { sinceMs: known?.sinceMs ?? nowMs, namespaces });
      this.#freshIn.change(namespaces, 1);
      return;
    }
    this.#lateIn.change(late.namespaces, -1);
    this.#setLate(mac, { ...late, namespaces });
  }

  delete(mac: Mac): void {
    this.#again.delete(mac);
    this.#deleteFresh(mac);
    const late = this.#late.get(mac);
    if (late === undefined) return;
    this.#late.delete(mac);
    this.#lateIn.change(late.namespaces, -1);
  }

  /** Looks once at each claim that has come of age. `isListed`: whether an object lists the address. */
  age(nowMs: number, isListed: (mac: Mac) => boolean): void {
    for (const [mac, pending] of this.#fresh) {
      if (nowMs - pending.sinceMs < LATE_AFTER_MS) return;
      this.#deleteFresh(mac);
      if (!isListed(mac)) this.#setLate(mac, pending);
    }
  }

  /** Whether a namespace has so many claims whose objects are still on their way. Looks at them only if it may have. */
  hasUnseen(namespace: string, count: number, isListed: (mac: Mac) => boolean): boolean {
    if (this.#freshIn.in(namespace) < count) return false;
    for (const [mac, { namespaces }] of this.#fresh) {
      if (namespaces.includes(namespace) && isListed(mac)) this.#deleteFresh(mac);
    }
    return this.#freshIn.in(namespace) >= count;
  }

  lateIn(namespace: string): number {
    return this.#lateIn.in(namespace);
  }

  /** Late claims of all namespaces. */
  get late(): Iterable<Mac> {
    return this.#late.keys();
  }

  get lateCount(): number {
    return this.#late.size;
  }

  /** When the oldest of those that are meant was seen first. */
  oldestMs(isMeant: (mac: Mac) => boolean): number | undefined {
    for (const pending of [this.#late, this.#fresh]) {
      for (const [mac, { sinceMs }] of pending) if (isMeant(mac)) return sinceMs;
    }
    for (const [mac, sinceMs] of this.#again) if (isMeant(mac)) return sinceMs;
    return undefined;
  }

  #deleteFresh(mac: Mac): void {
    const fresh = this.#fresh.get(mac);
    if (fresh === undefined) return;
    this.#fresh.delete(mac);
    this.#freshIn.change(fresh.namespaces, -1);
  }

  #setLate(mac: Mac, pending: Pending): void {
    this.#late.set(mac, pending);
    this.#lateIn.change(pending.namespaces, 1);
  }
}
