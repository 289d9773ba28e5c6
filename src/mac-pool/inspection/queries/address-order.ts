import type { Mac } from "../../../api/mac.ts";

/** Of a chunk: a list of 100,000 addresses is 200 to 400 chunks, and a change moves some hundred entries. */
const MAX_CHUNK = 512;

interface Chunk<T> {
  readonly macs: Mac[];
  readonly values: T[];
  /** The classes of each value, as bits; empty where there are none. */
  readonly classes: Uint8Array;
  /** How many values of each class there are. */
  readonly tally: number[];
  /** What its values can be found by, since somebody searched; absent after a change. */
  text?: string | undefined;
}

/** Called for each entry; false ends the scan. */
type Visit<T> = (value: T, mac: Mac) => boolean | undefined;

interface AddressOrderOptions<T> {
  /** At most eight. */
  readonly classes?: number;
  /** The classes that a value counts for from now until it is set again: bits, the first for class 0. */
  readonly classesOf?: (value: T) => number;
  /** What a value can be found by. */
  readonly textOf?: (value: T) => string;
}

/** Values in the order of their addresses. A change costs O(size of a chunk), a look-up and the begin of a scan O(log n). */
export class AddressOrder<T> {
  readonly #classes: number;
  readonly #classesOf: (value: T) => number;
  readonly #textOf: (value: T) => string;
  readonly #chunks: Chunk<T>[] = [];
  #size = 0;

  constructor({ classes = 0, classesOf = () => 0, textOf = () => "" }: AddressOrderOptions<T> = {}) {
    this.#classes = classes;
    this.#classesOf = classesOf;
    this.#textOf = textOf;
  }

  get size(): number {
    return this.#size;
  }

  get(mac: Mac): T | undefined {
    const chunk = this.#chunks[this.#chunkOf(mac)];
    const at = chunk === undefined ? 0 : firstNotBelow(chunk.macs, mac);
    return chunk?.macs[at] === mac ? chunk.values[at] : undefined;
  }

  set(mac: Mac, value: T): void {
    const index = this.#chunkOf(mac);
    const chunk = this.#chunks[index] ?? this.#firstChunk();
    const at = firstNotBelow(chunk.macs, mac);
    if (chunk.macs[at] === mac) {
      this.#count(chunk, at, -1);
      chunk.values[at] = value;
    } else {
      chunk.classes.copyWithin(at + 1, at, chunk.macs.length);
      chunk.macs.splice(at, 0, mac);
      chunk.values.splice(at, 0, value);
      this.#size += 1;
    }
    chunk.classes[at] = this.#classesOf(value);
    this.#count(chunk, at, 1);
    if (chunk.macs.length > MAX_CHUNK) this.#split(index, chunk, at);
  }

  delete(mac: Mac): void {
    const index = this.#chunkOf(mac);
    const chunk = this.#chunks[index];
    if (chunk === undefined) return;
    const at = firstNotBelow(chunk.macs, mac);
    if (chunk.macs[at] !== mac) return;
    this.#count(chunk, at, -1);
    chunk.classes.copyWithin(at, at + 1, chunk.macs.length);
    chunk.macs.splice(at, 1);
    chunk.values.splice(at, 1);
    this.#size -= 1;
    if (chunk.macs.length === 0) this.#chunks.splice(index, 1);
  }

  /**
   * Visits the entries from an address on, in their order. `mayHave`: whether one of some values may be meant, by what they can
   * be found by; they are not visited otherwise.
   */
  scan(from: Mac, visit: Visit<T>, mayHave?: (text: string) => boolean): void {
    for (let index = this.#chunkOf(from); index < this.#chunks.length; index++) {
      const chunk = this.#chunks[index];
      if (chunk === undefined) return;
      if (mayHave !== undefined) {
        chunk.text ??= chunk.values.map(this.#textOf).join("\n");
        if (!mayHave(chunk.text)) continue;
      }
      for (let at = firstNotBelow(chunk.macs, from); at < chunk.macs.length; at++) {
        if (visit(chunk.values[at] as T, chunk.macs[at] as Mac) === false) return;
      }
    }
  }

  /**
   * Adds how many entries of each class there are between two addresses to `counts`, class after class from `at` on. Reads no
   * value, since they lie far apart in memory, and makes nothing: a map counts some thousand times.
   */
  count(from: Mac, to: Mac, counts: Uint32Array, at: number): void {
    for (let index = this.#chunkOf(from); index < this.#chunks.length; index++) {
      const chunk = this.#chunks[index];
      if (chunk === undefined) return;
      const { macs, classes, tally } = chunk;
      const size = macs.length;
      if ((macs[0] as Mac) > to) return;
      if ((macs[0] as Mac) >= from && (macs[size - 1] as Mac) <= to) {
        for (const [place, number] of tally.entries()) counts[at + place] = (counts[at + place] ?? 0) + number;
        continue;
      }
      for (let entry = firstNotBelow(macs, from); entry < size && (macs[entry] as Mac) <= to; entry++) {
        const bits = classes[entry] ?? 0;
        for (let place = 0; place < this.#classes; place++) {
          counts[at + place] = (counts[at + place] ?? 0) + ((bits >> place) & 1);
        }
      }
    }
  }

  #firstChunk(): Chunk<T> {
    const chunk = this.#newChunk([], [], []);
    this.#chunks.push(chunk);
    return chunk;
  }

  #newChunk(macs: Mac[], values: T[], bits: ArrayLike<number>): Chunk<T> {
    const classes = new Uint8Array(this.#classes === 0 ? 0 : MAX_CHUNK + 1);
    classes.set(bits);
    const chunk = { macs, values, classes, tally: new Array<number>(this.#classes).fill(0) };
    for (const at of macs.keys()) this.#count(chunk, at, 1);
    return chunk;
  }

  /** One that grew at its end was filled in order, as the first list is: it stays full. */
  #split(index: number, chunk: Chunk<T>, at: number): void {
    const middle = at === chunk.macs.length - 1 ? at : chunk.macs.length >> 1;
    const bits = chunk.classes.subarray(middle, chunk.macs.length);
    const right = this.#newChunk(chunk.macs.splice(middle), chunk.values.splice(middle), bits);
    chunk.text = undefined;
    for (const [place, count] of right.tally.entries()) chunk.tally[place] = (chunk.tally[place] ?? 0) - count;
    this.#chunks.splice(index + 1, 0, right);
  }

  #count(chunk: Chunk<T>, at: number, change: 1 | -1): void {
    chunk.text = undefined;
    const { tally, classes } = chunk;
    for (const [place, number] of tally.entries()) {
      if (((classes[at] ?? 0) >> place) & 1) tally[place] = number + change;
    }
  }

  /** The last chunk that begins at or below the address, else the first. */
  #chunkOf(mac: Mac): number {
    let [low, high] = [0, this.#chunks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#chunks[middle]?.macs[0] ?? mac) <= mac) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

/** Index of the first address that is not below the given one. */
function firstNotBelow(macs: readonly Mac[], mac: Mac): number {
  let [low, high] = [0, macs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((macs[middle] as Mac) < mac) low = middle + 1;
    else high = middle;
  }
  return low;
}
