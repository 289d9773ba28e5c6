/**
 * The MAC pool against limits of its own; for its webhooks, against a bare Node HTTPS AdmissionReview echo; for whole creations,
 * against no pool, in the same run. `MAC_POOL_BENCH_CLAIMS` (100,000; with `--short` 10,000) and
 * `MAC_POOL_BENCH_SECONDS` (50; 10) make it shorter.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Mac, parseMac } from "../../src/api/mac.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import type { ClaimFacts } from "../../src/mac-pool/pools/pool.ts";
import { PoolIndex } from "../../src/mac-pool/pools/pool-index.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { poolSettings } from "../mac-pool/pool-settings.ts";
import { eventually } from "../support/eventually.ts";
import { megabytesOf } from "../support/process-usage.ts";
import { askChild } from "./ask-child.ts";
import { atLeastRow, type Bench, type BenchContext, type BenchRow, limitedRow, percentile, row } from "./bench.ts";
import { onCoresOfTheirOwn } from "./cores.ts";
import type { DurableOrder, DurableSamples } from "./durable-caller.ts";
import { admissionReview, Caller, virtualMachine } from "./mac-pool-calls.ts";
import { measureCreations } from "./mac-pool-creations.ts";
import { fill, poolKubeconfig } from "./mac-pool-scale.ts";
import { CONTROL_PLANE, CORES } from "./needs.ts";

const SIZE = 1_000_000;
const LEFT_FREE = 100;
const CORE_ROUNDS = 2_000;

const BOUND: ClaimFacts = { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: [], untilMs: 0 };

/** Milliseconds of one operation on a pool of a million addresses. */
function measureCore(): { readonly commit: number; readonly pick: number; readonly full: number } {
  const start = parseMac("020000000000") ?? (0 as Mac);
  const index = new PoolIndex();
  index.setPool(poolSettings(start, SIZE));
  const mac = (number: number): Mac => (start + number) as Mac;
  for (let i = 0; i < SIZE - LEFT_FREE; i++) index.setClaim(mac(i), BOUND);
  const pool = index.pool("default");
  if (pool === undefined) throw new Error("no pool");
  const commit = each((i) => {
    const held = mac((i * 7919) % (SIZE - LEFT_FREE));
    index.deleteClaim(held);
    index.setClaim(held, BOUND);
  });
  const pick = each(() => {
    if (index.draw(pool, Math.random(), 0) === undefined) throw new Error("full too early");
  });
  for (let i = SIZE - LEFT_FREE; i < SIZE; i++) index.setClaim(mac(i), BOUND);
  const full = each(() => {
    if (index.draw(pool, Math.random(), 0) !== undefined) throw new Error("not full");
  });
  return { commit, pick, full };
}

function each(operation: (round: number) => void): number {
  const startMs = performance.now();
  for (let round = 0; round < CORE_ROUNDS; round++) operation(round);
  return (performance.now() - startMs) / CORE_ROUNDS;
}

const RATE = 100;
/** Pending claims of one namespace are limited. */
const NAMESPACES = Array.from({ length: 24 }, (_, index) => `bench-${index}`);
/** At the steady rate: by then both sides have the connections that they need and run compiled code. */
const WARM_UP_SECONDS = 5;
/** A pool has no more than 20,000 addresses pending: 300 claims a second are under that for a minute. */
const SECONDS = 50;
const SHORT_SECONDS = 10;
/** So that the young generation of the caller is collected hardly ever. */
const NODE_FLAGS = ["--max-semi-space-size=32"];

/**
 * Admissions that make two durable claims each, and the same two writes by a bare client, in between. The disk and the API
 * server stall for some 50 ms every few seconds: only sides that meet the same stalls have a p99 that can be compared.
 */
async function measureDurable(harness: PoolFixture, { log, env, short }: BenchContext): Promise<DurableSamples> {
  const seconds = Number(env.MAC_POOL_BENCH_SECONDS ?? (short ? SHORT_SECONDS : SECONDS));
  for (const name of NAMESPACES) await harness.admin.create(RESOURCES.namespaces, { metadata: { name } });
  const caller = fork(join(import.meta.dirname, "durable-caller.ts"), { execArgv: NODE_FLAGS });
  try {
    const port = Number(new URL(harness.httpsUrl("one")).port);
    const begin = { what: "begin", kubeconfig: await poolKubeconfig(harness), port, namespaces: NAMESPACES } as const;
    await askChild(caller, begin satisfies DurableOrder);
    const during = (time: number): Promise<DurableSamples> => {
      const order: DurableOrder = { what: "call", admissions: RATE * time, perSecond: RATE };
      return askChild<DurableSamples>(caller, order);
    };
    log(`${RATE} automatic 2-NIC VMs a second, and half as many pairs of bare writes in between, for ${seconds} s`);
    await during(WARM_UP_SECONDS);
    return await during(seconds);
  } finally {
    caller.disconnect();
  }
}

const WARM_UP = 1_000;
/** Short rounds in turn, so that both sides see the same machine. */
const CALLS = 100;
const ROUNDS = 100;
const SHORT_ROUNDS = 20;
const CONNECTIONS = 8;
const RANGE = { start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" };
/** Of the VMs that are there before a replica starts: nothing was drawn from it. */
const FILLED = { start: "02:5d:1d:00:00:00", end: "02:5d:1d:ff:ff:ff" };
const FILLED_FROM = parseMac(FILLED.start) ?? (0 as Mac);
const ADOPTION_LIMIT_MS = 300_000;
const AUTOMATIC = "own share, automatic 2-NIC VM, p50";
const NOTHING = "nothing to do, p50";

export const bench: Bench = {
  about: "the MAC pool; the peer is a bare Node HTTPS AdmissionReview echo where the row names no other",
  needs: [...CONTROL_PLANE, ...CORES],
  async run(context) {
    const rows = [
      ...(await measureCreations(context)),
      ...(await measureAdmission(context)),
      ...(await measureScale(context)),
    ];
    context.log("core");
    // At the end: collecting a million addresses is work of this process, which is the client of the measurements above.
    const core = measureCore();
    rows.push(
      limitedRow("core: release and commit, 1,000,000 MACs held", "ms", core.commit, null, 0.1),
      limitedRow("core: pick an address at 99.99 % of 1,000,000", "ms", core.pick, null, 1),
      limitedRow("core: answer full, 1,000,000", "ms", core.full, null, 1),
    );
    return rows;
  },
};

async function measureAdmission(context: BenchContext): Promise<BenchRow[]> {
  await using harness = await PoolFixture.start();
  const rows = await measureOwnShare(harness, context);
  await harness.startReplica("one", true);
  await harness.createPool("default", { ranges: [RANGE] });
  return [...rows, ...(await durableRows(harness, context))];
}

async function measureOwnShare(harness: PoolFixture, { log, short }: BenchContext): Promise<BenchRow[]> {
  const { authority, directory } = harness.controlPlane;
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
    const pids = children.map(({ pid = 0 }) => pid);
    await onCoresOfTheirOwn(pids, async () => {
      const rounds = short ? SHORT_ROUNDS : ROUNDS;
      for (let round = 0; round < rounds; round++) {
        if (round % 25 === 0) log(`own share, round ${round + 1} of ${rounds}`);
        samples.autoEcho.push(...(await sequence(echo, created, CALLS)));
        samples.auto.push(...(await sequence(ours, created, CALLS)));
        samples.sameEcho.push(...(await sequence(echo, same, CALLS)));
        samples.same.push(...(await sequence(ours, same, CALLS)));
      }
    });
    const startMs = performance.now();
    await Promise.all(Array.from({ length: CONNECTIONS }, () => sequence(ours, created, WARM_UP)));
    const perSecond = (CONNECTIONS * WARM_UP * 1000) / (performance.now() - startMs);
    const p50 = (name: keyof typeof samples): number => percentile(samples[name], 0.5);
    return [
      row(AUTOMATIC, "ms", p50("auto"), p50("autoEcho"), 1.5),
      row(NOTHING, "ms", p50("same"), p50("sameEcho"), 1.2),
      atLeastRow("own share, admissions of one process", "ops/s", perSecond, 1_000),
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

async function durableRows(harness: PoolFixture, context: BenchContext): Promise<BenchRow[]> {
  const { admissions, creations } = await measureDurable(harness, context);
  const what = `automatic 2-NIC VM over HTTPS, two durable claims, ${RATE}/s beside the API server`;
  const bare = "two claims created at once by a bare client, in between";
  return [
    row(`${what}, p50; peer: ${bare}`, "ms", percentile(admissions, 0.5), percentile(creations, 0.5), 1.5),
    row(`${what}, p99; peer: the same`, "ms", percentile(admissions, 0.99), percentile(creations, 0.99), 1.5),
  ];
}

/** On a cluster that had no pool before. */
async function measureScale({ log, env, short }: BenchContext): Promise<BenchRow[]> {
  await using harness = await PoolFixture.start();
  const claims = Number(env.MAC_POOL_BENCH_CLAIMS ?? (short ? 10_000 : 100_000));
  const many = { prefix: "vm", firstMac: FILLED_FROM, vms: claims / 10, nics: 2, claimed: false };
  const firstMac = (FILLED_FROM + many.vms * many.nics) as Mac;
  const large = { prefix: "large", firstMac, vms: claims / 50, nics: 40, claimed: true };
  await harness.admin.create(KINDS.pools, { metadata: { name: "default" }, spec: { ranges: [FILLED] } });
  log(`creating ${many.vms} VMs without claims`);
  await fill(harness, many, log);
  log(`adopting ${many.vms} VMs with ${many.vms * many.nics} addresses`);
  await startToReady(harness, "one");
  const adoptionMs = await adopted(harness, many.vms);
  await harness.stopReplica("one");
  const first = await startToReady(harness, "two");
  await harness.killReplica("two");
  log(`creating ${large.vms} VMs with ${large.vms * large.nics} claims`);
  await fill(harness, large, log);
  const second = await startToReady(harness, "three");
  return [
    limitedRow(`adoption of ${many.vms} VMs with ${many.vms * many.nics} addresses`, "ms", adoptionMs, null, 30_000),
    limitedRow(`start to ready, ${many.vms} VMs of 2 kB`, "ms", first.readyMs, null, 5_000),
    limitedRow(`start to ready, ${many.vms + large.vms} VMs and ${claims} claims`, "ms", second.readyMs, null, 30_000),
    limitedRow(`resident memory, ${claims} claims`, "MB", megabytesOf(second.pid), null, 300),
  ];
}

/** From a start, when the replica is ready and leads, until the pool's condition says that all of them are adopted. */
async function adopted(harness: PoolFixture, vms: number): Promise<number> {
  const startMs = performance.now();
  await eventually(
    `${vms} adopted VMs`,
    async () => {
      const { status } = await harness.admin.get(KINDS.pools, { name: "default" });
      const condition = status?.conditions?.find(({ type }) => type === "Adopted");
      return condition?.status === "True" && condition.message?.startsWith(`${vms} objects`);
    },
    { limitMs: ADOPTION_LIMIT_MS },
  );
  return performance.now() - startMs;
}

async function startToReady(harness: PoolFixture, name: string): Promise<{ readyMs: number; pid: number }> {
  const startMs = performance.now();
  const pid = await harness.startReplica(name, true);
  const readyMs = performance.now() - startMs;
  await harness.leader();
  return { readyMs, pid };
}
