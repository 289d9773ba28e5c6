/**
 * The MAC pool against limits of its own and, for its webhooks, against a bare Node HTTPS AdmissionReview echo in the same
 * run. `MAC_POOL_BENCH_CLAIMS` (100,000) and `MAC_POOL_BENCH_SECONDS` (20) make it shorter.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { PoolBed } from "../mac-pool/pool-bed.ts";
import { type Bench, type BenchContext, type BenchRow, row } from "./bench.ts";
import { admissionReview, Caller, percentile, virtualMachine } from "./mac-pool-calls.ts";
import { measureCore } from "./mac-pool-core.ts";
import { fill, residentMb } from "./mac-pool-scale.ts";

const WARM_UP = 1_000;
const CALLS = 2_000;
const ROUNDS = 5;
const RATE = 100;
/** Pending claims of one namespace are limited. */
const NAMESPACES = 8;
const RANGE = { start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" };
/** Of the VMs that are there before a replica starts: nothing was drawn from it. */
const FILLED = { start: "02:5d:1d:00:00:00", end: "02:5d:1d:ff:ff:ff" };
const AUTOMATIC = "own share, automatic 2-NIC VM, p50";
const NOTHING = "nothing to do, p50";

export const bench: Bench = {
  about: "the MAC pool; the peer is a bare Node HTTPS AdmissionReview echo",
  async run(context) {
    context.log("core");
    const core = measureCore();
    const rows = [
      limited("core: release and commit, 1,000,000 MACs held", "ms", core.commit, 0.1),
      limited("core: pick an address at 99.99 % of 1,000,000", "ms", core.pick, 1),
      limited("core: answer full, 1,000,000", "ms", core.full, 1),
    ];
    await using bed = await PoolBed.start();
    rows.push(...(await measureOwnShare(bed, context)));
    rows.push(...(await measureDurable(bed, context)));
    rows.push(...(await measureScale(bed, context)));
    return rows;
  },
};

/** A goal that is a number and not a ratio stands in the row's name. */
function limited(what: string, unit: BenchRow["unit"], ours: number, limit: number): BenchRow {
  const ok = ours <= limit;
  const text = `${what} (limit ${limit} ${unit}: ${ok ? "met" : "MISSED"})`;
  return { what: text, unit, ours, peer: null, ratio: null, goal: null, ok };
}

async function measureOwnShare(bed: PoolBed, { log }: BenchContext): Promise<BenchRow[]> {
  const { authority, directory } = bed.controlPlane;
  const { cert, key } = await authority.issue({ commonName: "bench", addresses: ["127.0.0.1"], usage: ["server"] });
  const files = [join(directory, "bench.crt"), join(directory, "bench.key")] as const;
  await writeFile(files[0], cert);
  await writeFile(files[1], key, { mode: 0o600 });
  const children = ["echo", "pool"].map((side) =>
    fork(join(import.meta.dirname, "mac-pool-server.ts"), [side, ...files]),
  );
  try {
    const ports = await Promise.all(
      children.map(async (child) => ((await once(child, "message"))[0] as { port: number }).port),
    );
    using echo = new Caller(ports[0] ?? 0);
    using ours = new Caller(ports[1] ?? 0);
    const created = (i: number): string =>
      admissionReview("CREATE", "default", `vm-${i}`, virtualMachine(`vm-${i}`, "default"));
    const macs = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
    const same = (i: number): string =>
      admissionReview("UPDATE", "default", `vm-${i}`, virtualMachine(`vm-${i}`, "default", macs));
    for (const caller of [echo, ours]) for (const body of [created, same]) await sequence(caller, body, WARM_UP);
    const samples = { auto: [] as number[], autoEcho: [] as number[], same: [] as number[], sameEcho: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      log(`own share, round ${round + 1} of ${ROUNDS}`);
      samples.autoEcho.push(...(await sequence(echo, created, CALLS)));
      samples.auto.push(...(await sequence(ours, created, CALLS)));
      samples.sameEcho.push(...(await sequence(echo, same, CALLS)));
      samples.same.push(...(await sequence(ours, same, CALLS)));
    }
    const startMs = performance.now();
    await Promise.all(Array.from({ length: 8 }, () => sequence(ours, created, CALLS)));
    const perSecond = (8 * CALLS * 1000) / (performance.now() - startMs);
    const p50 = (name: keyof typeof samples): number => percentile(samples[name], 0.5);
    return [
      row(AUTOMATIC, "ms", p50("auto"), p50("autoEcho"), 1.5),
      row(NOTHING, "ms", p50("same"), p50("sameEcho"), 1.2),
      { ...row("own share, admissions of one process", "ops/s", perSecond, null, null), ok: perSecond >= 1_000 },
    ];
  } finally {
    for (const child of children) child.disconnect();
  }
}

async function sequence(caller: Caller, body: (i: number) => string, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i++) samples.push(await caller.call(body(i)));
  return samples;
}

/** Two durable claims an admission, at a steady rate, whether or not the one before was answered. */
async function measureDurable(bed: PoolBed, { log, env }: BenchContext): Promise<BenchRow[]> {
  const seconds = Number(env.MAC_POOL_BENCH_SECONDS ?? 20);
  for (let i = 0; i < NAMESPACES; i++)
    await bed.admin.create(RESOURCES.namespaces, { metadata: { name: `bench-${i}` } });
  await bed.startReplica("one");
  await bed.createPool("default", { ranges: [RANGE] });
  using caller = new Caller(Number(new URL(bed.httpsUrl("one")).port));
  log(`${RATE} automatic 2-NIC VMs a second for ${seconds} s`);
  const create = (i: number): Promise<number> => {
    const namespace = `bench-${i % NAMESPACES}`;
    return caller.call(admissionReview("CREATE", namespace, `vm-${i}`, virtualMachine(`vm-${i}`, namespace)));
  };
  for (let i = 0; i < RATE; i++) await create(i);
  const startMs = performance.now();
  const calls: Promise<number>[] = [];
  for (let i = 0; i < seconds * RATE; i++) {
    const waitMs = startMs + (i * 1000) / RATE - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    calls.push(create(RATE + i));
  }
  const samples = await Promise.all(calls);
  await bed.killReplica("one");
  const what = `automatic 2-NIC VM over HTTPS, two durable claims, ${RATE}/s beside the API server`;
  return [
    limited(`${what}, p50`, "ms", percentile(samples, 0.5), 8),
    limited(`${what}, p99`, "ms", percentile(samples, 0.99), 40),
  ];
}

async function measureScale(bed: PoolBed, { log, env }: BenchContext): Promise<BenchRow[]> {
  const claims = Number(env.MAC_POOL_BENCH_CLAIMS ?? 100_000);
  log(`creating ${claims / 10} VMs with ${claims} claims`);
  const patch = { type: "merge", body: { spec: { ranges: [RANGE, FILLED] } } } as const;
  await bed.admin.patch(KINDS.pools, { name: "default" }, patch);
  await fill(bed, claims, log);
  const startMs = performance.now();
  const pid = await bed.startReplica("two");
  const readyMs = performance.now() - startMs;
  await bed.leader();
  return [
    limited(`start to ready, ${claims / 10} VMs and ${claims} claims`, "ms", readyMs, 30_000),
    limited(`resident memory, ${claims} claims`, "MB", await residentMb(pid), 300),
  ];
}
