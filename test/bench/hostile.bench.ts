/**
 * The MAC pool while it is attacked, against the same pool at rest in the same run. The attacker is a process of its own, which
 * leaves the processors to the others.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { ATTACKS, floodedNamespaces } from "../mac-pool/hostile/attacks.ts";
import { inFlight } from "../mac-pool/in-flight.ts";
import { PoolBed } from "../mac-pool/pool-bed.ts";
import { type Bench, type BenchRow, limitedRow, row } from "./bench.ts";
import { yieldToAll } from "./cores.ts";
import type { Order } from "./hostile-attacker.ts";
import { percentile } from "./mac-pool-calls.ts";
import { residentMb } from "./mac-pool-scale.ts";
import { CONTROL_PLANE, CORES } from "./needs.ts";
import { medianRound, ROUND_MS, ROUNDS, type Round, SHORT_ROUND_MS } from "./turns.ts";
import { VmCreator } from "./vm-creator.ts";

const WARM_UP = 200;
/** Of a steady attack: more than a round has time for. */
const STEADY_TIMES = 20;
const MOST = 1.5;
const MAX_RESIDENT_MB = 512;

export const bench: Bench = {
  about:
    "creation of a VM by others, p99 of the median round, while the MAC pool is attacked; the peer is the pool at rest",
  needs: [...CONTROL_PLANE, ...CORES],
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
    using honest = await VmCreator.start(bed);
    await honest.create(WARM_UP);
    const attacker = fork(join(import.meta.dirname, "hostile-attacker.ts"));
    try {
      await yieldToAll(attacker.pid ?? 0);
      const rows: BenchRow[] = [];
      const port = (url: string): number => Number(new URL(url).port);
      const target = { webhooks: port(bed.httpsUrl("one")), inspection: port(bed.inspectionUrl("one")) };
      for (const [attack, { what, isSteady }] of ATTACKS.entries()) {
        log(what);
        const order = { ...target, attack, times: isSteady ? STEADY_TIMES : 1 };
        const rounds: Round[] = [];
        let creations = 0;
        for (let round = 0; round < ROUNDS; round++) {
          const atRest = percentile(await honest.during(ROUND_MS), 0.99);
          const attacking = repeated(attacker, order, short ? SHORT_ROUND_MS : ROUND_MS);
          const underAttack = await honest.during(0, attacking);
          rounds.push({ loaded: percentile(underAttack, 0.99), atRest });
          creations += underAttack.length;
        }
        const { loaded, atRest } = medianRound(rounds);
        rows.push(row(`${what} (${creations} VMs)`, "ms", loaded, atRest, MOST));
      }
      rows.push(limitedRow("VMs that were not admitted", "requests", honest.failures, null, 0));
      rows.push(limitedRow("resident memory afterwards", "MB", await residentMb(pid), null, MAX_RESIDENT_MB));
      return rows;
    } finally {
      attacker.disconnect();
    }
  },
};

/** What is under way at the end is broken off. */
async function repeated(attacker: ChildProcess, order: Order, forMs: number): Promise<void> {
  const endMs = performance.now() + forMs;
  const end = setTimeout(() => attacker.send("rest"), forMs);
  while (performance.now() < endMs) {
    attacker.send(order);
    await once(attacker, "message");
  }
  clearTimeout(end);
  attacker.send("rest");
}
