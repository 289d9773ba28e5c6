import { LRUCache } from "lru-cache";
import type { Clock } from "../../../kube/clock.ts";

export interface TtlCacheOptions<T> {
  readonly ttlMs: number;
  /** Most values; the one that was read least lately goes first. */
  readonly max: number;
  /** Most of the sizes of all values together; no limit unless given. */
  readonly maxSize?: number;
  /** Called with each value that is forgotten. */
  readonly onDrop?: (value: T) => void;
}

/** Values that are forgotten after a time, read or not: nothing is kept longer than it may be read. */
export class TtlCache<T extends object> {
  readonly #clock: Pick<Clock, "after">;
  readonly #ttlMs: number;
  readonly #maxSize: number;
  readonly #entries: LRUCache<string, Entry<T>>;

  constructor(
    clock: Pick<Clock, "after">,
    { ttlMs, max, maxSize = Number.MAX_SAFE_INTEGER, onDrop }: TtlCacheOptions<T>,
  ) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#maxSize = maxSize;
    const dispose = ({ value, cancel }: Entry<T>): void => {
      cancel();
      onDrop?.(value);
    };
    this.#entries = new LRUCache({ max, maxSize, dispose });
  }

  find(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /** `size`: for `maxSize`. A value that exceeds it alone is not kept. */
  add(key: string, value: T, size = 1): void {
    if (size > this.#maxSize) return;
    const cancel = this.#clock.after(this.#ttlMs, () => this.#entries.delete(key));
    this.#entries.set(key, { value, cancel }, { size });
  }
}

interface Entry<T> {
  readonly value: T;
  /** Of the end of its time. */
  readonly cancel: () => void;
}

/** Answers that are made once for all who ask meanwhile, and then kept: many readers cost as much as one. Failures are kept too. */
export class AnswerCache<A> {
  readonly #made: TtlCache<Promise<A>>;
  readonly #underWay = new Map<string, Promise<A>>();
  readonly #sizeOf: (answer: A) => number;

  constructor(
    clock: Pick<Clock, "after">,
    options: TtlCacheOptions<Promise<A>>,
    sizeOf: (answer: A) => number = () => 0,
  ) {
    this.#made = new TtlCache(clock, options);
    this.#sizeOf = sizeOf;
  }

  get(key: string, make: () => Promise<A>): Promise<A> {
    const known = this.#underWay.get(key) ?? this.#made.find(key);
    if (known !== undefined) return known;
    const answer = make();
    const keep = (size: number): void => {
      this.#underWay.delete(key);
      this.#made.add(key, answer, 1 + size);
    };
    this.#underWay.set(key, answer);
    answer.then(
      (made) => keep(this.#sizeOf(made)),
      () => keep(0),
    );
    return answer;
  }
}
