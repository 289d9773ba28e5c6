/**
 * Client and informer of `src/kube` against client-node's informer and bare undici, on one real API server full of
 * MACClaims. `KUBE_BENCH_CLAIMS`, `KUBE_BENCH_SECONDS`, `KUBE_BENCH_ROUNDS` make it shorter.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { MAC_CLAIM_CRD } from "../../src/api/crds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { type Credentials, credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { type Bench, type BenchContext, type BenchRow, row } from "./bench.ts";
import { median } from "./cni-timer.ts";
import { CLAIMS, StoredClaims } from "./kube-claims.ts";
import { measureCreates } from "./kube-creates.ts";
import type { Counts, SubjectStart, Synced } from "./kube-subject.ts";

const CREATES = 2_000;
const IN_FLIGHT = 32;
const EVENTS_PER_SECOND = 1_000;
const CATCH_UP_DEADLINE_MS = 60_000;
const CREATE_DEADLINE_MS = 60_000;

type Side = SubjectStart["side"];
const SIDES: readonly Side[] = ["ours", "peer"];
/** Ways to list that are not the normal one: shown beside it, in fewer rounds. */
const OTHER_SIDES: readonly Side[] = ["ours-pages", "ours-stream"];
const OTHER_ROUNDS = 2;

interface Setup {
  readonly context: BenchContext;
  readonly client: KubeClient;
  readonly etcdUrl: string;
  readonly connection: Pick<SubjectStart, "kubeconfig" | "server" | "tls">;
  readonly claims: number;
  readonly rounds: number;
  readonly seconds: number;
}

export const bench: Bench = {
  about: "client and informer against client-node's informer and bare undici, one real API server; medians",
  async run(context) {
    const number = (name: string, normal: number) => Number(context.env[name] ?? normal);
    await using controlPlane = await startControlPlane({
      apiServerArguments: [
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
        // Every five minutes it reads and decodes all claims from etcd: seconds that would count as somebody's.
        "--feature-gates=DetectCacheInconsistency=false",
      ],
    });
    const credentials = await credentialsFromKubeconfig(controlPlane.kubeconfig);
    await using client = new KubeClient({ credentials });
    const setup: Setup = {
      context,
      client,
      etcdUrl: controlPlane.etcdUrl,
      connection: { kubeconfig: controlPlane.kubeconfig, server: controlPlane.url, tls: await tlsOf(credentials) },
      claims: number("KUBE_BENCH_CLAIMS", 100_000),
      rounds: number("KUBE_BENCH_ROUNDS", 5),
      seconds: number("KUBE_BENCH_SECONDS", 60),
    };
    const rounds = setup.rounds + 2;
    context.log(`${CREATES} creates, ${IN_FLIGHT} in flight, ${rounds} rounds a side`);
    const options = { count: CREATES, inFlight: IN_FLIGHT, rounds };
    const creates = await measureCreates(client, credentials, options);
    const rows = [
      row(`${CREATES} creates, ${IN_FLIGHT} in flight`, "ms", median(creates.ours), median(creates.peer), 1.1),
    ];
    const stored = await prepare(setup);
    rows.push(...(await measureSync(setup)));
    rows.push(...(await measureEvents(setup, stored)));
    return rows;
  },
};

async function tlsOf(credentials: Credentials): Promise<SubjectStart["tls"]> {
  const { ca = "", cert = "", key = "" } = (await credentials.current()).tls;
  return { ca: String(ca), cert: String(cert), key: String(key) };
}

async function prepare({ client, claims, context, etcdUrl }: Setup): Promise<StoredClaims> {
  await client.create(RESOURCES.crds, MAC_CLAIM_CRD as never);
  const deadlineMs = performance.now() + CREATE_DEADLINE_MS;
  while ((await client.raw("GET", "/apis/macpool.network.kubevirt.io/v1alpha1/macclaims?limit=1")).status !== 200) {
    if (performance.now() > deadlineMs) throw new Error("the API server does not serve MACClaims");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  context.log(`creating ${claims} MACClaims`);
  const stored = await StoredClaims.create(client, etcdUrl);
  await stored.fill(claims);
  context.log("waiting until the API server has read them from etcd");
  while (!(await stored.isCached(client, claims - 1))) await new Promise((resolve) => setTimeout(resolve, 100));
  const [first] = (await client.page(CLAIMS, { limit: 1 })).items;
  context.log(`one claim has ${JSON.stringify(first).length} bytes`);
  return stored;
}

async function measureSync(setup: Setup): Promise<BenchRow[]> {
  const samples: Record<Side, Synced[]> = { ours: [], "ours-pages": [], "ours-stream": [], peer: [] };
  for (let round = 0; round < setup.rounds; round++) {
    // Who comes after others finds a warmer server: they change places.
    const pair = round % 2 === 0 ? SIDES : SIDES.toReversed();
    for (const side of round < OTHER_ROUNDS ? [...pair, ...OTHER_SIDES] : pair) {
      const [child, synced] = await start(setup, side);
      child.disconnect();
      samples[side].push(synced);
      setup.context.log(`${side} synced in ${synced.ms.toFixed(0)} ms, heap ${synced.heapMb.toFixed(0)} MB`);
    }
  }
  const of = (side: Side, field: keyof Synced) => median(samples[side].map((sample) => sample[field]));
  const compare = (
    what: string,
    unit: BenchRow["unit"],
    field: keyof Synced,
    goal: number | null,
    side: Side = "ours",
  ) => row(what, unit, of(side, field), of("peer", field), goal);
  return [
    compare(`${setup.claims} claims: time to synced`, "ms", "ms", 0.7),
    compare("  the same by pages", "ms", "ms", null, "ours-pages"),
    compare("  the same by WatchList", "ms", "ms", null, "ours-stream"),
    compare("  CPU time of it", "ms", "cpuMs", null),
    compare("  longest turn of the event loop", "ms", "longestTurnMs", null),
    compare("  the same by WatchList", "ms", "longestTurnMs", null, "ours-stream"),
    compare("  heap after GC", "MB", "heapMb", 0.7),
    compare("  heap before the first request", "MB", "heapBeforeMb", null),
    compare("  largest resident set", "MB", "peakRssMb", null),
    compare("  largest resident set by pages", "MB", "peakRssMb", null, "ours-pages"),
    compare("  largest resident set by WatchList", "MB", "peakRssMb", null, "ours-stream"),
  ];
}

/** Both sides watch the same changes; before that both are idle for as long, and their requests are counted. */
async function measureEvents(setup: Setup, stored: StoredClaims): Promise<BenchRow[]> {
  const { context, seconds, claims, client } = setup;
  const idleMs = Math.min(seconds, 30) * 1000;
  const idle = { ours: 0, peer: 0 };
  const children = { ours: undefined as ChildProcess | undefined, peer: undefined as ChildProcess | undefined };
  for (const side of ["ours", "peer"] as const) {
    const [child] = await start(setup, side);
    children[side] = child;
    const before = await requests(client);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    idle[side] = (await requests(client)) - before;
    if (side === "ours") child.disconnect();
  }
  [children.ours] = await start(setup, "ours");
  const { ours, peer } = children;
  if (!ours || !peer) throw new Error("both sides must run");
  const before = { ours: await counts(ours), peer: await counts(peer) };
  context.log(`${EVENTS_PER_SECOND} changes a second for ${seconds} s`);
  const { changes, ms } = await stored.change({ claims, perSecond: EVENTS_PER_SECOND, seconds });
  const deadlineMs = performance.now() + CATCH_UP_DEADLINE_MS;
  const after = { ours: await counts(ours), peer: await counts(peer) };
  while (
    performance.now() < deadlineMs &&
    Math.min(after.ours.events - before.ours.events, after.peer.events - before.peer.events) < changes
  ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    after.ours = await counts(ours);
    after.peer = await counts(peer);
  }
  ours.disconnect();
  peer.disconnect();
  const got = (side: "ours" | "peer") => after[side].events - before[side].events;
  const cpu = (side: "ours" | "peer") => after[side].cpuMs - before[side].cpuMs;
  context.log(`${changes} changes in ${(ms / 1000).toFixed(1)} s; ours saw ${got("ours")}, peer ${got("peer")}`);
  return [
    row(`requests in ${idleMs / 1000} idle seconds`, "requests", idle.ours, idle.peer, null),
    row("changes made a second", "ops/s", (changes * 1000) / ms, null, null),
    row(`changes lost of ${changes}`, "events", changes - got("ours"), changes - got("peer"), null),
    row("  CPU time for them", "ms", cpu("ours"), cpu("peer"), 0.7),
  ];
}

async function start(setup: Setup, side: Side): Promise<[ChildProcess, Synced]> {
  const child = fork(path.join(import.meta.dirname, "kube-subject.ts"), { execArgv: ["--expose-gc"] });
  const message: SubjectStart = { side, ...setup.connection, claims: setup.claims };
  return [child, await ask<Synced>(child, message)];
}

const counts = (child: ChildProcess) => ask<Counts>(child, "counts");

async function ask<A>(child: ChildProcess, message: SubjectStart | "counts"): Promise<A> {
  const answer = once(child, "message");
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`a side of the benchmark ended with exit code ${code}`);
  });
  ended.catch(() => {});
  child.send(message);
  const [value] = (await Promise.race([answer, ended])) as [A];
  return value;
}

/** How many requests for MACClaims the API server has answered so far. */
async function requests(client: KubeClient): Promise<number> {
  const { body } = await client.raw("GET", "/metrics");
  const lines = String(body).split("\n");
  const total = lines
    .filter((line) => /^apiserver_request_total\{.*resource="macclaims"/.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  return total;
}
