/** Inspection with 100,000 claims, and what its readers take from admission. Readers are processes of their own. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANAGER_NODE_FLAGS } from "../../src/api/image.ts";
import { PoolBed } from "../mac-pool/pool-bed.ts";
import { askChild } from "./ask-child.ts";
import { type Bench, type BenchContext, type BenchRow, limitedRow, row } from "./bench.ts";
import { bindApart } from "./cores.ts";
import { measureAdmission } from "./inspection-admission.ts";
import { ask } from "./inspection-ask.ts";
import type { AskerOrder } from "./inspection-asker.ts";
import { BROWSER, measurePaint } from "./inspection-paint.ts";
import { percentile } from "./mac-pool-calls.ts";
import { CONTROL_PLANE, CORES } from "./needs.ts";

const CLAIMS = 100_000;
const CALLS = 1_000;
const WARM_UP = 30;
/** So that the young generation is collected hardly ever. */
const ASKER_NODE_FLAGS = ["--max-semi-space-size=16"];
/** Of the namespaces that have claims. */
const TENANTS = 50;

export const bench: Bench = {
  about: `inspection with ${CLAIMS} claims, and admission while it is watched and flooded`,
  needs: [...CONTROL_PLANE, ...CORES, BROWSER],
  async run(context) {
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
    execArgv: MANAGER_NODE_FLAGS,
  });
  const asker = fork(join(import.meta.dirname, "inspection-asker.ts"), { execArgv: ASKER_NODE_FLAGS });
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
    const samplesOf = (path: string, calls: number): Promise<readonly number[]> => {
      const order: AskerOrder = { port, path, token: "viewer", calls };
      return askChild(asker, order);
    };
    await bindApart(asker.pid ?? 0, child.pid ?? 0);
    for (const [what, path, limit] of questions) {
      await samplesOf(path, WARM_UP);
      const samples = await samplesOf(path, short ? CALLS / 5 : CALLS);
      const [p50, p99] = [percentile(samples, 0.5), percentile(samples, 0.99)];
      rows.push(limitedRow(`${what}, p99 (p50 ${p50.toFixed(2)})`, "ms", p99, null, limit));
    }
    const unkept: number[] = [];
    for (let i = 0; i < TENANTS; i++) unkept.push(...(await samplesOf(`/api/v1/consistency?namespace=tenant-${i}`, 1)));
    rows.push(
      row("consistency of a namespace that nobody asked for lately, p99", "ms", percentile(unkept, 0.99), null, null),
    );
    log("opening the page");
    return [...rows, ...(await measurePaint(port, { short }))];
  } finally {
    asker.disconnect();
    child.disconnect();
    await rm(folder, { recursive: true, force: true });
  }
}

async function firstContinue(port: number): Promise<string> {
  const { body } = await ask(port, "/api/v1/claims?limit=5000");
  return (JSON.parse(body) as { readonly continue: string }).continue;
}
