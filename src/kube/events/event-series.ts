import type { ObjectRef } from "../client/resource.ts";

/** What to do about one occurrence: write a new Event, raise the count of the existing one, or nothing. */
export interface Occurrence {
  readonly type: "new" | "repeat" | "drop";
  readonly count: number;
}

/** After this time without an occurrence the next one is a new Event. */
export const SERIES_WINDOW_MS = 6 * 60_000;
/** A series is not written more often than this. */
export const SERIES_INTERVAL_MS = 30_000;
/** Limit of new Events: a broken object must not fill etcd. */
export const BURST = 50;
export const REFILL_MS = 2_000;
/** Series remembered; the oldest is forgotten first. */
const MAX_SERIES = 1_000;

interface Series {
  count: number;
  lastMs: number;
  writtenMs: number;
  event: ObjectRef | undefined;
}

/** Counts what repeats and limits what is new. Pure but for its memory; time is an argument. */
export class EventSeries {
  readonly #series = new Map<string, Series>();
  #tokens = BURST;
  #refilledMs: number | undefined;

  record(key: string, nowMs: number): Occurrence {
    const series = this.#series.get(key);
    if (series !== undefined && nowMs - series.lastMs < SERIES_WINDOW_MS) {
      series.count++;
      series.lastMs = nowMs;
      if (nowMs - series.writtenMs < SERIES_INTERVAL_MS) {
        return { type: "drop", count: series.count };
      }
      series.writtenMs = nowMs;
      return { type: "repeat", count: series.count };
    }
    if (!this.#take(nowMs)) {
      return { type: "drop", count: 1 };
    }
    this.#series.delete(key);
    this.#series.set(key, { count: 1, lastMs: nowMs, writtenMs: nowMs, event: undefined });
    for (const oldest of this.#series.keys()) {
      if (this.#series.size <= MAX_SERIES) {
        break;
      }
      this.#series.delete(oldest);
    }
    return { type: "new", count: 1 };
  }

  /** The Event that stands for the series, once it was created. */
  written(key: string): ObjectRef | undefined {
    return this.#series.get(key)?.event;
  }

  setWritten(key: string, event: ObjectRef): void {
    const series = this.#series.get(key);
    if (series) {
      series.event = event;
    }
  }

  #take(nowMs: number): boolean {
    const gained = Math.floor((nowMs - (this.#refilledMs ?? nowMs)) / REFILL_MS);
    if (gained > 0 || this.#refilledMs === undefined) {
      this.#refilledMs = (this.#refilledMs ?? nowMs) + gained * REFILL_MS;
      this.#tokens = Math.min(BURST, this.#tokens + gained);
    }
    if (this.#tokens === 0) {
      return false;
    }
    this.#tokens--;
    return true;
  }
}
