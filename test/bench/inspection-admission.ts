/** What the readers of inspection take from admission. They are processes of their own. */
import { fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { PoolBed } from "../mac-pool/pool-bed.ts";
import { viewerToken } from "../mac-pool/viewer-token.ts";
import { askChild } from "./ask-child.ts";
import { type BenchContext, type BenchRow, limitedRow, row } from "./bench.ts";
import { median } from "./cni-timer.ts";
import { yieldToAll } from "./cores.ts";
import { ask } from "./inspection-ask.ts";
import type { Answered, ReadersOrder } from "./inspection-readers.ts";
import { percentile } from "./mac-pool-calls.ts";
import { VmCreator } from "./vm-creator.ts";

const SHORT = { rounds: 3, ms: 3_000 };
/** Pages of one account, which is another one in each round: what one may ask in a second plays no part. */
const VIEWERS = 50;
const PER_SECOND = 1_000;
const HONEST_PAUSE_MS = 100;
const WARM_UP = 200;
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

export async function measureAdmission(bed: PoolBed, { log, short }: BenchContext): Promise<BenchRow[]> {
  const pid = await bed.startReplica("one", true);
  await bed.admin.create(RESOURCES.namespaces, { metadata: { name: "honest" } });
  await bed.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:0f:ff:ff" }] });
  await bed.registerWebhooks();
  using creations = await VmCreator.start(bed);
  await creations.create(WARM_UP);
  const port = Number(new URL(bed.inspectionUrl("one")).port);
  const readers = fork(join(import.meta.dirname, "inspection-readers.ts"));
  const [rounds, forMs] = short ? [SHORT.rounds, SHORT.ms] : [ROUNDS, ROUND_MS];
  const obey = (order: ReadersOrder) => askChild<Answered>(readers, order);
  const measured = async (order: ReadersOrder): Promise<Measured> => {
    const isFlood = order.what === "flood";
    const ordered = obey(order);
    if (!isFlood) await ordered;
    const [beforeMs, startMs] = [await cpuMs(pid), performance.now()];
    const samples = await creations.during(isFlood ? 0 : forMs, isFlood ? ordered.then(() => {}) : undefined);
    const share = ((await cpuMs(pid)) - beforeMs) / (performance.now() - startMs);
    return { p99: percentile(samples, 0.99), share, ...(await ordered) };
  };
  try {
    await yieldToAll(readers.pid ?? 0);
    const [watched, flooded]: [Round[], Round[]] = [[], []];
    const shares: number[] = [];
    const pages = new Answers();
    const strangers = new Answers();
    const honest = new HonestReader(port, await viewerToken(bed, "honest-reader", "cluster"));
    for (let round = 0; round < rounds; round++) {
      const token = await viewerToken(bed, `viewer-${round}`, "cluster");
      const reading = honest.read();
      const rest = await measured({ what: "nothing" });
      const view = await measured({ what: "view", port, token, pages: VIEWERS });
      pages.add(view);
      // What the pages were answered since they were open.
      pages.add(await obey({ what: "nothing" }));
      const flood = await measured({ what: "flood", port, perSecond: PER_SECOND, forMs });
      await reading.stop();
      strangers.add(flood);
      watched.push({ loaded: view.p99, atRest: rest.p99 });
      flooded.push({ loaded: flood.p99, atRest: rest.p99 });
      shares.push(view.share - rest.share);
      const p99s = [rest, view, flood].map(({ p99 }) => p99.toFixed(1));
      log(
        `round ${round + 1} of ${rounds}: admission at rest, with pages open, with random tokens: ${p99s.join(", ")} ms`,
      );
    }
    log(`answers to pages: ${pages}, to random tokens: ${strangers}`);
    const byPages = medianRound(watched);
    const byTokens = medianRound(flooded);
    const failed = strangers.of("failed");
    const perSecond = ((strangers.total - failed) * 1000) / strangers.ms;
    const unanswered = pages.total - pages.of("200") - pages.of("304");
    return [
      limitedRow(`CPU that ${VIEWERS} pages add, of a core`, "%", median(shares) * 100, null, 10),
      limitedRow(`questions of pages that were not answered, of ${pages.total}`, "requests", unanswered, null, 0),
      row(`creation of a VM with ${VIEWERS} pages open, p99; peer: at rest`, "ms", byPages.loaded, byPages.atRest, 1.1),
      row(
        `creation of a VM, random tokens at ${PER_SECOND}/s, p99; peer: at rest`,
        "ms",
        byTokens.loaded,
        byTokens.atRest,
        1.2,
      ),
      row("random tokens that were answered: refusals are slow", "ops/s", perSecond, null, null),
      limitedRow("random tokens that were let in, or got no answer", "requests", strangers.of("200") + failed, null, 0),
      row(
        `page of claims of an honest reader in all of this, p99 of ${honest.samples.length}`,
        "ms",
        percentile(honest.samples, 0.99),
        null,
        null,
      ),
      limitedRow("honest questions that were not answered", "requests", honest.failures, null, 0),
      limitedRow("VMs that were not admitted", "requests", creations.failures, null, 0),
    ];
  } finally {
    readers.disconnect();
  }
}

interface Measured extends Answered {
  /** Of the creations. */
  readonly p99: number;
  /** Of a core, that the pool's process used. */
  readonly share: number;
}

/** Of all rounds. */
class Answers {
  ms = 0;
  readonly #counts = new Map<string, number>();

  get total(): number {
    return this.#counts.values().reduce((total, count) => total + count, 0);
  }

  of(status: string): number {
    return this.#counts.get(status) ?? 0;
  }

  add({ answers, ms }: Answered): void {
    this.ms += ms;
    for (const [status, count] of Object.entries(answers)) this.#counts.set(status, this.of(status) + count);
  }

  toString(): string {
    return JSON.stringify(Object.fromEntries(this.#counts));
  }
}

/** Somebody with rights who asks again and again, as a page does. */
class HonestReader {
  readonly samples: number[] = [];
  failures = 0;
  readonly #port: number;
  readonly #token: string;

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  read(): { stop(): Promise<void> } {
    const over = new AbortController();
    const reading = this.#read(over.signal);
    const stop = (): Promise<void> => {
      over.abort();
      return reading;
    };
    return { stop };
  }

  async #read(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startMs = performance.now();
      await ask(this.#port, "/api/v1/claims?limit=200", this.#token).then(
        () => this.samples.push(performance.now() - startMs),
        (error: Error) => {
          this.failures += 1;
          console.error(error.message);
        },
      );
      await new Promise((resolve) => setTimeout(resolve, HONEST_PAUSE_MS));
    }
  }
}

/** CPU time of a process so far, all threads, by proc(5). */
async function cpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/**
 * Rest and load take turns, so that a slow while of the machine falls on both. What counts is the round in the middle, by what
 * the load makes of the rest in the same round. The slowest hundredth of a round is one or two samples, which vary by a third
 * from round to round with no load at all, so that there are many rounds.
 */
const ROUNDS = 9;
const ROUND_MS = 6_000;

interface Round {
  readonly loaded: number;
  readonly atRest: number;
}

function medianRound(rounds: readonly Round[]): Round {
  const sorted = rounds.toSorted((one, other) => one.loaded / one.atRest - other.loaded / other.atRest);
  return sorted[Math.floor(sorted.length / 2)] ?? { loaded: Number.NaN, atRest: Number.NaN };
}
