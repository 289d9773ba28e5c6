/** Creation of VMs through the API server: without a pool and with ours, in turns. */

import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { ADMIN_GROUP, type ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { macsOf } from "../mac-pool/machines.ts";
import { askChild } from "./ask-child.ts";
import { atLeastRow, type BenchContext, BenchFault, type BenchRow, limitedRow, percentile, row } from "./bench.ts";
import type { Created, CreatorAccess, CreatorOrder } from "./creator.ts";
import { type Deletions, measureDeletions } from "./mac-pool-deletions.ts";
import { NAMESPACE, ourPool, Side, type Used } from "./mac-pool-sides.ts";
import { type RequestCounts, requestsOfEach, requestsText, total } from "./request-counts.ts";

/** So that the young generation is collected hardly ever. */
const NODE_FLAGS = ["--max-semi-space-size=32"];

/** Somebody who creates VMs in the namespace `honest`, in a process of its own, and takes the time of each. */
class VmCreator implements Disposable {
  failures = 0;
  readonly #creator: ChildProcess;
  readonly #perSecond: number;
  readonly #access = new Map<ControlPlaneAccess, CreatorAccess>();

  private constructor(creator: ChildProcess, perSecond: number) {
    this.#creator = creator;
    this.#perSecond = perSecond;
  }

  /** `perSecond`: its steady rate, whether or not the creation before was answered. */
  static start(perSecond: number): VmCreator {
    return new VmCreator(fork(join(import.meta.dirname, "creator.ts"), { execArgv: NODE_FLAGS }), perSecond);
  }

  /** From now on it creates VMs there. */
  async turnTo(controlPlane: ControlPlaneAccess): Promise<void> {
    const access = this.#access.get(controlPlane) ?? (await accessTo(controlPlane));
    this.#access.set(controlPlane, access);
    await this.#obey({ what: "begin", access });
  }

  /** So many of them, so many under way at any time. */
  create(creations: number, inFlight = 1): Promise<Created> {
    return this.#obey({ what: "create", creations, inFlight });
  }

  /** Milliseconds of creations at a steady rate, for a time. */
  async during(ms: number): Promise<readonly number[]> {
    this.#creator.send({ what: "go on", perSecond: this.#perSecond } satisfies CreatorOrder);
    await sleep(ms);
    return (await this.#obey({ what: "stop" })).samples;
  }

  [Symbol.dispose](): void {
    this.#creator.disconnect();
  }

  async #obey(order: CreatorOrder): Promise<Created> {
    const created = await askChild<Created>(this.#creator, order);
    this.failures += created.failures;
    return created;
  }
}

async function accessTo({ authority, url }: ControlPlaneAccess): Promise<CreatorAccess> {
  const pair = await authority.issue({ commonName: "creator", groups: [ADMIN_GROUP], usage: ["client"] });
  return { url, ca: authority.certificate, ...pair };
}

const RATE = 60;
const TURN_MS = 2_000;
const BURST = 600;
const IN_FLIGHT = 32;
const NICS = 2;

interface Extent {
  readonly turns: number;
  readonly bursts: number;
  readonly deletions: number;
  /** Enough for all deletions to be noticed. */
  readonly quarantineSeconds: number;
}

const WHOLE: Extent = { turns: 12, bursts: 3, deletions: 600, quarantineSeconds: 20 };
const SHORT: Extent = { turns: 3, bursts: 1, deletions: 200, quarantineSeconds: 10 };

/** A VM's, beside its creation and its deletion. A tenth more is for those that are repeated. */
const MOST_REQUESTS = { creation: 2.1, deletion: 6.1 };

/** One side. Times in ms; processor time is of a VM at the steady rate. */
interface Creations {
  readonly p50: number;
  readonly p99: number;
  readonly burstRate: number;
  readonly burstP99: number;
  readonly used: Used;
  readonly requests: RequestCounts;
}

export async function measureCreations({ log, short }: BenchContext): Promise<BenchRow[]> {
  const extent = short ? SHORT : WHOLE;
  const load = loadavg()[0] ?? Number.NaN;
  log(`load of the machine before: ${load.toFixed(1)} on ${availableParallelism()} processors`);
  log("starting control planes without a pool, and with two replicas of ours");
  await using none = await Side.start("no pool");
  await using ours = await Side.start("ours", (harness) => ourPool(harness, extent.quarantineSeconds));
  using creator = VmCreator.start(RATE);
  const [peer, own] = await inTurns([none, ours], creator, extent, log);
  await haveAddresses(ours);
  if (peer === undefined || own === undefined) throw new BenchFault("no VM was created");
  const vms = (await ours.harness.admin.list(KINDS.virtualMachines, { namespace: NAMESPACE })).items.length;
  const residentMb = ours.residentMb();
  const readyMs = await ours.startAnother();
  log(`deleting ${extent.deletions} halted VMs`);
  return [
    ...creationRows(own, peer),
    row(`resident, both replicas, ${vms} VMs`, "MB", residentMb, null, null),
    row(`start to ready, ${vms} VMs`, "ms", readyMs, null, null),
    ...deletionRows(await measureDeletions(ours, extent.deletions), extent.deletions),
    limitedRow("VMs that were not admitted, on both sides", "requests", creator.failures, null, 0),
  ];
}

async function inTurns(
  sides: readonly Side[],
  creator: VmCreator,
  { turns, bursts }: Extent,
  log: BenchContext["log"],
): Promise<readonly Creations[]> {
  const tallies = new Map(sides.map((side) => [side, new Tally(side, creator)]));
  const each = async (work: (tally: Tally) => Promise<void>): Promise<void> => {
    for (const [side, tally] of tallies) {
      await creator.turnTo(side.controlPlane);
      await work(tally);
    }
  };
  await each((tally) => tally.begin());
  log(`${RATE} VMs with ${NICS} automatic networks a second, ${turns} turns of ${TURN_MS / 1000} s`);
  for (let turn = 0; turn < turns; turn++) await each((tally) => tally.steadily());
  log(`${bursts} bursts of ${BURST} VMs, ${IN_FLIGHT} in flight`);
  for (let burst = 0; burst < bursts; burst++) await each((tally) => tally.atOnce());
  const results: Creations[] = [];
  for (const [side, tally] of tallies) {
    const result = await tally.end();
    results.push(result);
    log(`  ${side.name}: ${textOf(result)}`);
  }
  return results;
}

class Tally {
  readonly #side: Side;
  readonly #creator: VmCreator;
  readonly #steady: number[] = [];
  readonly #burst: number[] = [];
  #burstMs = 0;
  readonly #used: Used[] = [];
  #before: RequestCounts = new Map();

  constructor(side: Side, creator: VmCreator) {
    this.#side = side;
    this.#creator = creator;
  }

  /** All processes have what they need, and run compiled code. */
  async begin(): Promise<void> {
    const failuresBefore = this.#creator.failures;
    await this.#creator.create(BURST, IN_FLIGHT);
    await this.#creator.during(TURN_MS);
    const failures = this.#creator.failures - failuresBefore;
    if (failures > BURST / 2) throw new BenchFault(`${this.#side.name}: ${failures} VMs were not admitted`);
    await this.#side.caughtUp();
    this.#before = await this.#side.requests();
  }

  async steadily(): Promise<void> {
    const used = await this.#side.usedBy(async () => {
      this.#steady.push(...(await this.#creator.during(TURN_MS)));
    });
    this.#used.push(used);
  }

  async atOnce(): Promise<void> {
    const { samples, ms } = await this.#creator.create(BURST, IN_FLIGHT);
    this.#burst.push(...samples);
    this.#burstMs += ms;
    await this.#side.caughtUp();
  }

  async end(): Promise<Creations> {
    const steady = this.#steady.length;
    const usedOf = (name: keyof Used): number => this.#used.reduce((sum, used) => sum + used[name], 0) / steady;
    const own = { objects: steady + this.#burst.length, own: "POST virtualmachines" };
    return {
      p50: percentile(this.#steady, 0.5),
      p99: percentile(this.#steady, 0.99),
      burstRate: (this.#burst.length * 1000) / this.#burstMs,
      burstP99: percentile(this.#burst, 0.99),
      used: { pool: usedOf("pool"), apiServer: usedOf("apiServer"), etcd: usedOf("etcd") },
      requests: requestsOfEach(this.#before, await this.#side.requests(), own),
    };
  }
}

/** A pool that gives out nothing, or one address twice, is not measured. Claims that are needed are there. */
async function haveAddresses({ name, harness }: Side): Promise<void> {
  const { items } = await harness.admin.list(KINDS.virtualMachines, { namespace: NAMESPACE });
  const macs = new Set(items.flatMap(macsOf));
  macs.delete(undefined);
  const needed = items.length * NICS;
  if (macs.size !== needed) throw new BenchFault(`${name}: ${items.length} VMs have ${macs.size} addresses`);
  const claims = (await harness.claims()).filter(({ spec }) => macs.has(spec.mac)).length;
  if (claims !== needed) throw new BenchFault(`${needed} addresses have ${claims} claims`);
}

const NO_POOL = "peer: no pool";
const CREATION = `creation of a VM, ${RATE}/s`;
const AT_ONCE = `burst of ${BURST} VMs, ${IN_FLIGHT} in flight`;

function creationRows(own: Creations, none: Creations): BenchRow[] {
  const time = "processor time a VM";
  return [
    row(`${CREATION}, p50; ${NO_POOL}`, "ms", own.p50, none.p50, 2.2),
    row(`${CREATION}, p99; ${NO_POOL}`, "ms", own.p99, none.p99, 2.5),
    atLeastRow(`${AT_ONCE}, a second; ${NO_POOL}`, "ops/s", own.burstRate, 0.35 * none.burstRate, none.burstRate),
    row(`${AT_ONCE}, p99; ${NO_POOL}`, "ms", own.burstP99, none.burstP99, null),
    row(`${time}, API server; ${NO_POOL}`, "ms", own.used.apiServer, none.used.apiServer, 2.7),
    row(`${time}, etcd; ${NO_POOL}`, "ms", own.used.etcd, none.used.etcd, null),
    row(`${time}, both replicas`, "ms", own.used.pool, null, null),
    ...requestRows("requests a VM beside its creation", own.requests, MOST_REQUESTS.creation),
  ];
}

function requestRows(what: string, requests: RequestCounts, most: number): BenchRow[] {
  return [
    limitedRow(what, "requests", total(requests), null, most),
    ...[...requests].map(([kind, count]) => row(`  ${kind}`, "requests", count, null, null)),
  ];
}

function deletionRows({ quarantinedMs, requests, poolMs }: Deletions, count: number): BenchRow[] {
  return [
    row(`deletion of ${count} halted VMs until quarantine`, "ms", quarantinedMs, null, null),
    ...requestRows(
      "requests a deletion beside its own, until the addresses are free",
      requests,
      MOST_REQUESTS.deletion,
    ),
    row("processor time a deletion, both replicas", "ms", poolMs, null, null),
  ];
}

function textOf({ p50, p99, burstRate, burstP99, used, requests }: Creations): string {
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  return [
    `p50 ${ms(p50)}, p99 ${ms(p99)}`,
    `burst ${burstRate.toFixed(0)} a second, p99 ${ms(burstP99)}`,
    `processor time of pool ${ms(used.pool)}, API server ${ms(used.apiServer)}, etcd ${ms(used.etcd)}`,
    requestsText(requests),
  ].join("; ");
}
