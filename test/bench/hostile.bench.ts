/** The MAC pool while it is attacked, against the same pool at rest in the same run. */

import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { Attacker } from "../mac-pool/hostile/attacker.ts";
import { ATTACKS, type Attack, floodedNamespaces } from "../mac-pool/hostile/attacks.ts";
import { inFlight } from "../mac-pool/in-flight.ts";
import { machine } from "../mac-pool/machines.ts";
import { PoolBed } from "../mac-pool/pool-bed.ts";
import { type Bench, type BenchRow, limitedRow, row } from "./bench.ts";
import { percentile } from "./mac-pool-calls.ts";
import { residentMb } from "./mac-pool-scale.ts";

/** VMs a second that others create, one after the other in time, whether or not the one before was answered. */
const RATE = 20;
const WARM_UP = 200;
const QUIET_SECONDS = 15;
const REPETITIONS = 5;
const MOST = 1.5;
const MAX_RESIDENT_MB = 512;

export const bench: Bench = {
  about: `creation of a VM by others, p99, while the MAC pool is attacked; the peer is the pool at rest`,
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
    const rows: BenchRow[] = [];
    for (const attack of ATTACKS) {
      log(attack.what);
      const quiet = await honest.during(QUIET_SECONDS * 1000, undefined);
      const attacked = await underAttack(bed, honest, attack, short ? 1 : REPETITIONS);
      const times = `${attacked.length} VMs`;
      rows.push(row(`${attack.what} (${times})`, "ms", percentile(attacked, 0.99), percentile(quiet, 0.99), MOST));
    }
    rows.push(limitedRow("resident memory afterwards", "MB", await residentMb(pid), null, MAX_RESIDENT_MB));
    return rows;
  },
};

/** Milliseconds of the creations that were begun while the attack went on. */
async function underAttack(bed: PoolBed, honest: Honest, attack: Attack, times: number): Promise<number[]> {
  const port = (url: string): number => Number(new URL(url).port);
  const target = { webhooks: port(bed.httpsUrl("one")), inspection: port(bed.inspectionUrl("one")) };
  using attacker = new Attacker();
  return await honest.during(0, attack.run(attacker, target, times));
}

class Honest {
  readonly #bed: PoolBed;
  #created = 0;

  constructor(bed: PoolBed) {
    this.#bed = bed;
  }

  async create(): Promise<number> {
    const startMs = performance.now();
    const vm = machine(`vm-${this.#created++}`, "honest", [{ name: "a" }, { name: "b" }]);
    await this.#bed.admin.create(KINDS.virtualMachines, vm);
    return performance.now() - startMs;
  }

  /** At a steady rate, for a time at least, and until something else is over. */
  async during(ms: number, other: Promise<void> | undefined): Promise<number[]> {
    const startMs = performance.now();
    const calls: Promise<number>[] = [];
    let isOver = other === undefined;
    other?.finally(() => {
      isOver = true;
    });
    while (!isOver || performance.now() - startMs < ms) {
      const waitMs = startMs + (calls.length * 1000) / RATE - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
      calls.push(this.create());
    }
    await other;
    return Promise.all(calls);
  }
}
