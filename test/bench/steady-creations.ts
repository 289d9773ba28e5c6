import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { machine } from "../mac-pool/machines.ts";
import type { PoolBed } from "../mac-pool/pool-bed.ts";

/** VMs a second that are created, whether or not the one before was answered. */
const RATE = 20;

/** Somebody who creates VMs at a steady rate in the namespace `honest`, and takes the time of each. */
export class SteadyCreations {
  failures = 0;
  readonly #bed: PoolBed;
  #created = 0;

  constructor(bed: PoolBed) {
    this.#bed = bed;
  }

  async create(): Promise<number> {
    const startMs = performance.now();
    const vm = machine(`vm-${this.#created++}`, "honest", [{ name: "a" }, { name: "b" }]);
    await this.#bed.admin.create(KINDS.virtualMachines, vm).catch((error: Error) => {
      this.failures += 1;
      console.error(error.message);
    });
    return performance.now() - startMs;
  }

  /** Milliseconds of creations at a steady rate, for a time at least, and until something else is over. */
  async during(ms: number, other?: Promise<void>): Promise<number[]> {
    const startMs = performance.now();
    const calls: Promise<number>[] = [];
    let isOver = other === undefined;
    const ended = other?.finally(() => {
      isOver = true;
    });
    while (!isOver || performance.now() - startMs < ms) {
      const waitMs = startMs + (calls.length * 1000) / RATE - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
      calls.push(this.create());
    }
    await ended;
    return Promise.all(calls);
  }
}
