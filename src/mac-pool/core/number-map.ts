/**
 * A map between whole numbers from 0 to 2^53 - 1. It keeps them as they are, in typed arrays: a Map makes an object of each
 * above 2^31, which the garbage collector copies, and leaves compiled code to hash it. Open addressing with linear probing,
 * at most three quarters full.
 */
export class NumberMap {
  #bits = MIN_BITS;
  #keys = noKeys(MIN_BITS);
  #values = new Float64Array(2 ** MIN_BITS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: number): number | undefined {
    const slot = this.#slotOf(key);
    return this.#keys[slot] === key ? this.#values[slot] : undefined;
  }

  set(key: number, value: number): void {
    let slot = this.#slotOf(key);
    if (this.#keys[slot] !== key) {
      if ((this.#size + 1) * 4 > this.#keys.length * 3) {
        this.#grow();
        slot = this.#slotOf(key);
      }
      this.#keys[slot] = key;
      this.#size += 1;
    }
    this.#values[slot] = value;
  }

  delete(key: number): boolean {
    let hole = this.#slotOf(key);
    const keys = this.#keys;
    if (keys[hole] !== key) return false;
    const mask = keys.length - 1;
    // Whatever would not be found any more behind the hole moves into it (Knuth 6.4, algorithm R).
    for (let slot = (hole + 1) & mask; ; slot = (slot + 1) & mask) {
      const other = keys[slot] ?? NONE;
      if (other === NONE) break;
      if (((slot - this.#home(other)) & mask) < ((slot - hole) & mask)) continue;
      keys[hole] = other;
      this.#values[hole] = this.#values[slot] ?? 0;
      hole = slot;
    }
    keys[hole] = NONE;
    this.#size -= 1;
    return true;
  }

  /** Where the key is, or would be put. */
  #slotOf(key: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let slot = this.#home(key);
    while (keys[slot] !== key && keys[slot] !== NONE) slot = (slot + 1) & mask;
    return slot;
  }

  /** Fibonacci hashing: numbers that follow one another come to lie far apart. */
  #home(key: number): number {
    return Math.imul(key ^ Math.imul(key / 2 ** 32, HIGH_FACTOR), LOW_FACTOR) >>> (32 - this.#bits);
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#bits += 1;
    this.#keys = noKeys(this.#bits);
    this.#values = new Float64Array(2 ** this.#bits);
    for (let old = 0; old < keys.length; old++) {
      const key = keys[old] ?? NONE;
      if (key === NONE) continue;
      const slot = this.#slotOf(key);
      this.#keys[slot] = key;
      this.#values[slot] = values[old] ?? 0;
    }
  }
}

const MIN_BITS = 4;
const NONE = -1;
/** 2^32 divided by the golden ratio, and another odd number without a pattern. */
const LOW_FACTOR = 0x9e3779b1;
const HIGH_FACTOR = 0x85ebca6b;

function noKeys(bits: number): Float64Array {
  return new Float64Array(2 ** bits).fill(NONE);
}
