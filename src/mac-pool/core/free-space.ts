/**
 * Which of the numbers 0..capacity-1 are taken, with O(1) take, release and random draw of a free one at any fill level.
 *
 * It is a Fisher-Yates shuffle that stores displaced entries only: the numbers are thought of as a permutation whose
 * first `taken` positions are the taken ones, so a free number is any position behind them. Memory is proportional to
 * the number of taken numbers, not to the capacity: 13 to 17 MB for 100,000, whether a pool has 2^24 addresses or 2^40.
 */

/** Displaced entries that may pile up per taken number before the permutation is rebuilt from the taken ones. */
const MAX_DISPLACED_PER_TAKEN = 4;
const MIN_DISPLACED = 1024;

export class FreeSpace {
  readonly capacity: number;
  /** position -> number, where they differ */
  #numberAt = new Map<number, number>();
  /** number -> position, where they differ */
  #positionOf = new Map<number, number>();
  #taken = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return this.capacity - this.#taken;
  }

  has(number: number): boolean {
    return this.#position(number) < this.#taken;
  }

  /** False when the number was taken already. */
  take(number: number): boolean {
    const position = this.#position(number);
    const end = this.#taken;
    if (position < end) return false;
    if (position !== end) this.#put(position, this.#number(end));
    this.#put(end, number);
    this.#taken += 1;
    return true;
  }

  /** False when the number was free already. */
  release(number: number): boolean {
    const position = this.#position(number);
    if (position >= this.#taken) return false;
    const end = this.#taken - 1;
    if (position !== end) this.#put(position, this.#number(end));
    this.#put(end, number);
    this.#taken = end;
    this.#compact();
    return true;
  }

  /** A free number, every one equally likely for `random` uniform in [0, 1); undefined when nothing is free. */
  draw(random: number): number | undefined {
    if (this.free === 0) return undefined;
    const offset = Math.min(Math.floor(random * this.free), this.free - 1);
    return this.#number(this.#taken + offset);
  }

  #position(number: number): number {
    return this.#positionOf.get(number) ?? number;
  }

  #number(position: number): number {
    return this.#numberAt.get(position) ?? position;
  }

  #put(position: number, number: number): void {
    if (position === number) {
      this.#numberAt.delete(position);
      this.#positionOf.delete(number);
    } else {
      this.#numberAt.set(position, number);
      this.#positionOf.set(number, position);
    }
  }

  /** Churn leaves displaced entries among the free positions; rebuilding costs O(taken) once per O(taken) releases. */
  #compact(): void {
    if (this.#numberAt.size <= Math.max(MIN_DISPLACED, this.#taken * MAX_DISPLACED_PER_TAKEN)) return;
    const taken = Array.from({ length: this.#taken }, (_, position) => this.#number(position));
    this.#numberAt = new Map<number, number>();
    this.#positionOf = new Map<number, number>();
    this.#taken = 0;
    for (const number of taken) this.take(number);
  }
}
