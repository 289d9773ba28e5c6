/**
 * Simulated time. Steps run one by one in the order of their times. Before the next step, everything that awaits the last
 * one has run. So a run depends on its seed alone; seal.ts enforces that.
 */

/**
 * While a run is sealed, the process's own clocks, timers and randomness throw. So a run depends on its seed alone, or it
 * ends at the line that uses something else.
 */

const SEALED = [
  [Math, "random"],
  [Date, "now"],
  [performance, "now"],
  [globalThis, "setTimeout"],
  [globalThis, "setInterval"],
] as const satisfies readonly (readonly [object, string])[];

class Seal {
  #restore: (() => void)[] = [];
  #broken: Error | undefined;

  close(): void {
    if (this.#restore.length > 0) return;
    this.#restore = SEALED.map(([owner, name]) => {
      const real = Object.getOwnPropertyDescriptor(owner, name) ?? { value: Reflect.get(owner, name), writable: true };
      const value = (): never => {
        this.#broken ??= new Error(`${name} was used, which has nothing to do with the seed`);
        throw this.#broken;
      };
      Object.defineProperty(owner, name, { configurable: true, writable: true, enumerable: true, value });
      return () => Object.defineProperty(owner, name, { ...real, configurable: true });
    });
  }

  open(): void {
    for (const restore of this.#restore.splice(0)) restore();
  }

  /** Throws what broke the seal, also where the code that did it has swallowed the error. */
  check(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }
}

interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** Now and then the event loop gets its turn, for output and signals. */
const STEPS_PER_TURN = 8_192;

export class Scheduler {
  nowMs = 0;
  steps = 0;
  /** Grows out of everything that was noted: equal traces have equal digests. */
  digest = 0x811c9dc5;
  readonly #heap: Due[] = [];
  #order = 0;

  /** Does something after a delay, as a step of its own. */
  after(delayMs: number, run: () => void): void {
    this.#push({ atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, run });
  }

  /** Mixes a number into the digest. */
  note(value: number): void {
    this.digest = Math.imul(this.digest ^ (value | 0), 0x01000193) ^ (this.digest >>> 15);
  }

  /** Takes steps until `done` says so or nothing is due any more. Rejects with what a step throws. */
  run(done: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const seal = new Seal();
      const turn = (): void => {
        try {
          seal.close();
          seal.check();
          const due = done() ? undefined : this.#pop();
          if (due === undefined) {
            seal.open();
            resolve();
            return;
          }
          this.nowMs = due.atMs;
          this.steps += 1;
          this.note(due.order);
          this.note(due.atMs * 1000);
          due.run();
        } catch (error) {
          seal.open();
          reject(error);
          return;
        }
        if (this.steps % STEPS_PER_TURN === 0) rest();
        else queueMicrotask(() => process.nextTick(turn));
      };
      /** Other code of the process runs between two turns of the event loop, and only there. */
      const rest = (): void => {
        queueMicrotask(() =>
          process.nextTick(() => {
            seal.open();
            setImmediate(turn);
          }),
        );
      };
      setImmediate(turn);
    });
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let position = heap.length;
    heap.push(due);
    while (position > 0) {
      const parent = (position - 1) >> 1;
      const above = heap[parent] as Due;
      if (!isBefore(due, above)) break;
      heap[position] = above;
      position = parent;
    }
    heap[position] = due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let position = 0;
    for (;;) {
      let child = position * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child] as Due)) child += 1;
      if (!isBefore(heap[child] as Due, last)) break;
      heap[position] = heap[child] as Due;
      position = child;
    }
    heap[position] = last;
    return first;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
