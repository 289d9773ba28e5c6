/** Reproducible randomness: the same seed words give the same sequence on every machine (sfc32). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(...seed: readonly number[]) {
    let [a, b, c] = [0x9e3779b9, 0x243f6a88, 0xb7e15162];
    for (const word of seed) {
      a = Math.imul(a ^ (word | 0), 0x85ebca6b) ^ (a >>> 13);
      b = Math.imul(b ^ Math.floor(word / 2 ** 32), 0xc2b2ae35) ^ (a << 7);
      c = (c + Math.imul(a, 0x27d4eb2f)) ^ (b >>> 5);
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    for (let round = 0; round < 12; round++) this.next();
  }

  /** Uniform in [0, 1). */
  readonly next = (): number => {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };

  /** Uniform among 0..count-1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const found = list[this.below(list.length)];
    if (found === undefined) throw new Error("nothing to pick from");
    return found;
  }

  /** A key of the table, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    return (entries.at(-1) as [K, number])[0];
  }
}
