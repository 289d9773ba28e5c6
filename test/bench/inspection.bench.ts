/** Inspection with 100,000 claims, and what its readers take from admission. Readers are processes of their own. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IMAGE_NODE_FLAGS } from "../../src/api/image.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { MANAGER_NODE_FLAGS } from "../../src/operator/components/kube-mac-pool.ts";
import { inFlight } from "../mac-pool/in-flight.ts";
import { PoolBed } from "../mac-pool/pool-bed.ts";
import { viewerToken } from "../mac-pool/viewer-token.ts";
import { atLeastRow, type Bench, type BenchContext, type BenchRow, limitedRow, row } from "./bench.ts";
import { onCoresOfTheirOwn, yieldToAll } from "./cores.ts";
import { measurePaint, requireBrowser } from "./inspection-paint.ts";
import type { Answered, ReadersOrder } from "./inspection-readers.ts";
import { percentile } from "./mac-pool-calls.ts";
import { SteadyCreations } from "./steady-creations.ts";

const CLAIMS = 100_000;
const CALLS = 300;
const WARM_UP = 30;
/** Of the namespaces that have claims. */
const TENANTS = 50;
/** Pages of one account. */
const VIEWERS = 50;
const QUIET_MS = 20_000;
const FLOOD = { perSecond: 1_000, forMs: 30_000 };
/** Of the rate that is asked for: the last answers come after its time. */
const LEAST_OF_FLOOD = 0.95;
const HONEST_PAUSE_MS = 100;
const SHORT_MS = 5_000;
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

export const bench: Bench = {
  about: `inspection with ${CLAIMS} claims, and admission while it is watched and flooded`,
  async run(context) {
    requireBrowser();
    await using bed = await PoolBed.start();
    return [...(await measureAnswers(bed, context)), ...(await measureAdmission(bed, context))];
  },
};

async function measureAnswers(bed: PoolBed, { log, short }: BenchContext): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), "inspection-bench-"));
  const { cert, key } = await bed.controlPlane.authority.issue({
    commonName: "bench",
    addresses: ["127.0.0.1"],
    usage: ["server"],
  });
  const files = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await Promise.all([cert, key].map((text, at) => writeFile(files[at] ?? "", text, { mode: 0o600 })));
  log(`filling caches with ${CLAIMS} claims`);
  const child = fork(join(import.meta.dirname, "inspection-server.ts"), [...files, String(CLAIMS)], {
    execArgv: [...IMAGE_NODE_FLAGS, ...MANAGER_NODE_FLAGS],
  });
  try {
    const [{ port, example }] = (await once(child, "message")) as [{ port: number; example: string }];
    const middle = await firstContinue(port);
    const questions: readonly [string, string, number][] = [
      ["first page of 500 claims", "/api/v1/claims", 20],
      ["page of 500 claims behind a token", `/api/v1/claims?continue=${middle}`, 20],
      ["page of the claims of a namespace", "/api/v1/claims?namespace=tenant-7", 20],
      ["page of the claims of a phase", "/api/v1/claims?phase=Bound", 20],
      ["page of the pools", "/api/v1/pools", 20],
      ["page of the namespaces", "/api/v1/namespaces", 20],
      ["page of the collisions", "/api/v1/collisions", 20],
      ["page of 1,000 refusals", "/api/v1/denials", 20],
      ["consistency, which is kept for five seconds", "/api/v1/consistency", 20],
      ["search by a part of an address", `/api/v1/claims?search=${example.slice(9, 14)}&limit=50`, 30],
      ["search by a part of a name", "/api/v1/claims?search=vm-4321&limit=50", 30],
      ["search that finds every claim", "/api/v1/claims?search=0&limit=50", 30],
      ["claims by a part of an address that all have", "/api/v1/claims?mac=02&limit=50", 30],
      ["claims of an owner that does not exist", "/api/v1/claims?owner=x&limit=50", 30],
      ["map of 4,096 cells", "/api/v1/pools/default/map?cells=4096", 20],
    ];
    const rows: BenchRow[] = [];
    await onCoresOfTheirOwn([child.pid ?? 0], async () => {
      for (const [what, path, limit] of questions) {
        for (let i = 0; i < WARM_UP; i++) await timed(port, path);
        const samples: number[] = [];
        for (let i = 0; i < (short ? CALLS / 5 : CALLS); i++) samples.push(await timed(port, path));
        rows.push(
          limitedRow(
            `${what}, p99 (p50 ${percentile(samples, 0.5).toFixed(2)})`,
            "ms",
            percentile(samples, 0.99),
            null,
            limit,
          ),
        );
      }
      const unkept: number[] = [];
      for (let i = 0; i < TENANTS; i++) unkept.push(await timed(port, `/api/v1/consistency?namespace=tenant-${i}`));
      rows.push(
        row("consistency of a namespace that nobody asked for lately, p99", "ms", percentile(unkept, 0.99), null, null),
      );
    });
    log("opening the page");
    return [...rows, ...(await measurePaint(port, { short }))];
  } finally {
    child.disconnect();
    await rm(folder, { recursive: true, force: true });
  }
}

async function firstContinue(port: number): Promise<string> {
  const { body } = await ask(port, "/api/v1/claims?limit=5000");
  return (JSON.parse(body) as { readonly continue: string }).continue;
}

async function timed(port: number, path: string): Promise<number> {
  const startMs = performance.now();
  await ask(port, path);
  return performance.now() - startMs;
}

function ask(port: number, path: string, token = "viewer"): Promise<{ readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const asked = request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        if (answer.statusCode === 200) resolve({ body });
        else reject(new Error(`${path}: ${answer.statusCode} ${body}`));
      });
    });
    asked.on("error", reject);
    asked.end();
  });
}

async function measureAdmission(bed: PoolBed, { log, short }: BenchContext): Promise<BenchRow[]> {
  const pid = await bed.startReplica("one", true);
  await bed.admin.create(RESOURCES.namespaces, { metadata: { name: "honest" } });
  await bed.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:0f:ff:ff" }] });
  await bed.registerWebhooks();
  const token = await viewerToken(bed, "viewer", "cluster");
  const creations = new SteadyCreations(bed);
  await inFlight(4, 200, () => creations.create());
  const port = Number(new URL(bed.inspectionUrl("one")).port);
  const readers = fork(join(import.meta.dirname, "inspection-readers.ts"));
  try {
    await yieldToAll(readers.pid ?? 0);
    const quietMs = short ? SHORT_MS : QUIET_MS;
    const measured = async (orders: ReadersOrder): Promise<Measured> => {
      const isFlood = orders.what === "flood";
      const ordered = obey(readers, orders);
      if (!isFlood) await ordered;
      const [beforeMs, startMs] = [await cpuMs(pid), performance.now()];
      const samples = await creations.during(isFlood ? 0 : quietMs, isFlood ? ordered.then(() => {}) : undefined);
      const share = ((await cpuMs(pid)) - beforeMs) / (performance.now() - startMs);
      return { samples, share, ...(await ordered) };
    };
    log("admission at rest");
    const quiet = await measured({ what: "nothing" });
    log(`admission with ${VIEWERS} pages open`);
    const watched = await measured({ what: "view", port, token, pages: VIEWERS });
    // With what the pages were answered since they were open.
    const again = await measured({ what: "nothing" });
    log(`answers to pages: ${JSON.stringify(watched.answers)}, then ${JSON.stringify(again.answers)}`);
    log("admission with random tokens");
    const forMs = short ? SHORT_MS : FLOOD.forMs;
    const honest = new AbortController();
    const reading = readHonestly(port, token, honest.signal);
    const flooded = await measured({ what: "flood", port, perSecond: FLOOD.perSecond, forMs });
    honest.abort();
    const read = await reading;
    log(`answers to random tokens: ${JSON.stringify(flooded.answers)}`);
    const p99 = ({ samples }: { readonly samples: readonly number[] }): number => percentile(samples, 0.99);
    const rest = percentile([...quiet.samples, ...again.samples], 0.99);
    const restShare = (quiet.share + again.share) / 2;
    const { failed = 0, ...answered } = flooded.answers;
    const perSecond = (sum(answered) * 1000) / flooded.ms;
    const pages = sum(watched.answers) + sum(again.answers);
    const served = [watched, again].reduce(
      (total, { answers }) => total + (answers[200] ?? 0) + (answers[304] ?? 0),
      0,
    );
    return [
      limitedRow(`CPU that ${VIEWERS} pages add, of a core`, "%", (watched.share - restShare) * 100, null, 10),
      limitedRow(`questions of pages that were not answered, of ${pages}`, "requests", pages - served, null, 0),
      row(`creation of a VM with ${VIEWERS} pages open, p99; peer: at rest`, "ms", p99(watched), rest, 1.1),
      row(`creation of a VM, random tokens at ${FLOOD.perSecond}/s, p99; peer: at rest`, "ms", p99(flooded), rest, 1.2),
      atLeastRow("random tokens that were answered", "ops/s", perSecond, FLOOD.perSecond * LEAST_OF_FLOOD),
      limitedRow(
        "random tokens that were let in, or got no answer",
        "requests",
        (answered[200] ?? 0) + failed,
        null,
        0,
      ),
      row(`page of claims of an honest reader meanwhile, p99 of ${read.samples.length}`, "ms", p99(read), null, null),
      limitedRow("honest questions that were not answered", "requests", read.failures, null, 0),
      limitedRow("VMs that were not admitted", "requests", creations.failures, null, 0),
    ];
  } finally {
    readers.disconnect();
  }
}

interface Measured extends Answered {
  readonly samples: readonly number[];
  /** Of a core, that the pool's process used. */
  readonly share: number;
}

async function obey(readers: ChildProcess, order: ReadersOrder): Promise<Answered> {
  readers.send(order);
  const [answered] = (await once(readers, "message")) as [Answered];
  return answered;
}

/** Somebody with rights who asks again and again, as a page does. */
async function readHonestly(
  port: number,
  token: string,
  signal: AbortSignal,
): Promise<{ readonly samples: readonly number[]; readonly failures: number }> {
  const samples: number[] = [];
  let failures = 0;
  while (!signal.aborted) {
    const startMs = performance.now();
    await ask(port, "/api/v1/claims?limit=200", token).then(
      () => samples.push(performance.now() - startMs),
      (error: Error) => {
        failures += 1;
        console.error(error.message);
      },
    );
    await new Promise((resolve) => setTimeout(resolve, HONEST_PAUSE_MS));
  }
  return { samples, failures };
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** CPU time of a process so far, all threads, by proc(5). */
async function cpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
