import type { Mac } from "../../api/mac.ts";

/**
 * How long each address is kept for whoever was last admitted to it, though no object lists it: for as long as a request may live.
 * Counted from when this process saw the admission in the claim, and by the monotonic clock: the time in the claim is another
 * machine's.
 */
export class Waits {
  /** The oldest first. One that is over is forgotten some time after that. */
  readonly #began = new Map<Mac, { readonly atMs: number; readonly isWatched: boolean }>();

  /**
   * `isWatched`: this process has seen the claim come into being while no object listed the address. One that did is not what
   * the claim was made for.
   */
  see(mac: Mac, nowMs: number, isWatched: boolean): void {
    this.#began.delete(mac);
    this.#began.set(mac, { atMs: nowMs, isWatched });
  }

  forget(mac: Mac): void {
    this.#began.delete(mac);
  }

  isWatched(mac: Mac): boolean {
    return this.#began.get(mac)?.isWatched ?? false;
  }

  /** 0 when it is over. */
  leftMs(mac: Mac, lastsMs: number, nowMs: number): number {
    for (const [oldest, { atMs }] of this.#began) {
      if (nowMs - atMs < lastsMs) break;
      this.#began.delete(oldest);
    }
    const began = this.#began.get(mac);
    return began === undefined ? 0 : Math.max(0, began.atMs + lastsMs - nowMs);
  }
}
