import type { Mac } from "../../api/mac.ts";

/**
 * How long each address is kept for whoever was last admitted to it, though no object lists it: for as long as a request may live.
 * Counted from when this process saw the admission in the claim, and by the monotonic clock: the time in the claim is another
 * machine's.
 */
export class Waits {
  /** The oldest first. One that is over is forgotten some time after that. */
  readonly #sinceMs = new Map<Mac, number>();

  see(mac: Mac, nowMs: number): void {
    this.#sinceMs.delete(mac);
    this.#sinceMs.set(mac, nowMs);
  }

  forget(mac: Mac): void {
    this.#sinceMs.delete(mac);
  }

  /** 0 when it is over. */
  leftMs(mac: Mac, lastsMs: number, nowMs: number): number {
    for (const [oldest, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs < lastsMs) break;
      this.#sinceMs.delete(oldest);
    }
    const sinceMs = this.#sinceMs.get(mac);
    return sinceMs === undefined ? 0 : Math.max(0, sinceMs + lastsMs - nowMs);
  }
}
