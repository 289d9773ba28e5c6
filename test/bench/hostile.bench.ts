/**
 * The MAC pool while it is attacked, against the same pool at rest in the same run. The attacker is a process of its own, which
 * leaves the processors to the others.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { ATTACKS, floodedNamespaces } from "../mac-pool/hostile/attacks.ts";
import { inFlight } from "../mac-pool/in-flight.ts";
import { machine } from "../mac-pool/machines.ts";
import { PoolBed } from "../mac-pool/pool-bed.ts";
import { type Bench, type BenchRow, limitedRow, row } from "./bench.ts";
import { yieldToAll } from "./cores.ts";
import type { Order } from "./hostile-attacker.ts";
import { percentile } from "./mac-pool-calls.ts";
import { residentMb } from "./mac-pool-scale.ts";

/** VMs a second that others create, whether or not the one before was answered. */
const RATE = 20;
const WARM_UP = 200;
const QUIET_MS = 15_000;
/** An attack is repeated for so long: the 99th percentile of a few creations is the slowest of them. */
const ATTACK_MS = 15_000;
const SHORT_ATTACK_MS = 2_000;
const MOST = 1.5;
const MAX_RESIDENT_MB = 512;

export const bench: Bench = {
  about: "creation of a VM by others, p99, while the MAC pool is attacked; the peer is the pool at rest",
  async run({ log, short }) {
    await using bed = await PoolBed.start();
    const pid = await bed.startReplica("one", true);
    await bed.admin.create(RESOURCES.namespaces, { metadata: { name: "honest" } });
    const flooded = floodedNamespaces();
    await inFlight(16, flooded.length, (i) =>
      bed.admin.create(RESOURCES.namespaces, { metadata: { name: flooded[i] } }),
    );
    await bed.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:0f:ff:ff" }] });
    await bed.registerWebhooks();
    const honest = new Honest(bed);
    await inFlight(4, WARM_UP, () => honest.create());
    const attacker = fork(join(import.meta.dirname, "hostile-attacker.ts"));
    try {
      await yieldToAll(attacker.pid ?? 0);
      const rows: BenchRow[] = [];
      const port = (url: string): number => Number(new URL(url).port);
      const target = { webhooks: port(bed.httpsUrl("one")), inspection: port(bed.inspectionUrl("one")) };
      for (const [attack, { what }] of ATTACKS.entries()) {
        log(what);
        const quiet = await honest.during(QUIET_MS);
        const order = { ...target, attack, times: 1 };
        const attacked = await honest.during(0, repeated(attacker, order, short ? SHORT_ATTACK_MS : ATTACK_MS));
        const [ours, peer] = [percentile(attacked, 0.99), percentile(quiet, 0.99)];
        rows.push(row(`${what} (${attacked.length} VMs)`, "ms", ours, peer, MOST));
      }
      rows.push(limitedRow("VMs that were not admitted", "requests", honest.failures, null, 0));
      rows.push(limitedRow("resident memory afterwards", "MB", await residentMb(pid), null, MAX_RESIDENT_MB));
      return rows;
    } finally {
      attacker.disconnect();
    }
  },
};

async function repeated(attacker: ChildProcess, order: Order, forMs: number): Promise<void> {
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    attacker.send(order);
    await once(attacker, "message");
  }
}

class Honest {
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
