/**
 * Which of the numbers 0..capacity-1 are taken. Most pools have far more addresses than VMs: then the taken numbers are all
 * that is kept, 3 MB for 100,000 whether a pool has 2^24 addresses or 2^40, and a draw guesses. Where few are free, those are
 * listed besides. Take, release and draw are O(1), a change between both ways O(capacity).
 */

/** So small a space always lists its free numbers. */
const SMALL = 256;
/** Share of the capacity below which the free numbers are listed: above it eight guesses find one on average. */
const LISTED_BELOW = 1 / 8;
const GUESSED_ABOVE = 1 / 4;
/** Guesses that follow each other by this part of the capacity are spread evenly, wherever the taken numbers are. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export class FreeSpace {
  readonly capacity: number;
  readonly #taken = new Set<number>();
  #listed: FreeList | undefined;

  constructor(capacity: number) {
    this.capacity = capacity;
    if (capacity <= SMALL) this.#listed = this.#list();
  }

  get taken(): number {
    return this.#taken.size;
  }

  get free(): number {
    return this.capacity - this.#taken.size;
  }

  has(number: number): boolean {
    return this.#taken.has(number);
  }

  /** False when the number was taken already. */
  take(number: number): boolean {
    const before = this.#taken.size;
    if (this.#taken.add(number).size === before) return false;
    this.#listed?.remove(number);
    if (this.#listed === undefined && this.free < this.capacity * LISTED_BELOW) this.#listed = this.#list();
    return true;
  }

  /** False when the number was free already. */
  release(number: number): boolean {
    if (!this.#taken.delete(number)) return false;
    this.#listed?.add(number);
    if (this.capacity > SMALL && this.free > this.capacity * GUESSED_ABOVE) this.#listed = undefined;
    return true;
  }

  /**
   * A free number, undefined when nothing is free. For `random` uniform in [0, 1) every listed one is equally likely, and of
   * those that are guessed none is much likelier than others.
   */
  draw(random: number): number | undefined {
    if (this.free === 0) return undefined;
    if (this.#listed !== undefined) return this.#listed.at(random);
    for (let guess = random; ; guess = (guess + GOLDEN_RATIO) % 1) {
      const number = Math.floor(guess * this.capacity);
      if (!this.#taken.has(number)) return number;
    }
  }

  #list(): FreeList {
    const list = new FreeList();
    for (let number = 0; number < this.capacity; number++) if (!this.#taken.has(number)) list.add(number);
    return list;
  }
}

/** Numbers in no order, each of which can be found by its position and the other way round. */
class FreeList {
  readonly #numbers: number[] = [];
  readonly #positionOf = new Map<number, number>();

  add(number: number): void {
    this.#positionOf.set(number, this.#numbers.length);
    this.#numbers.push(number);
  }

  /** The last one takes its place. */
  remove(number: number): void {
    const position = this.#positionOf.get(number);
    if (position === undefined) return;
    const last = this.#numbers.pop();
    this.#positionOf.delete(number);
    if (last === undefined || last === number) return;
    this.#numbers[position] = last;
    this.#positionOf.set(last, position);
  }

  at(random: number): number | undefined {
    return this.#numbers[Math.floor(random * this.#numbers.length)];
  }
}
