/**
 * One side of the benchmark in a process of its own: `ours` or `peer`, an informer on all MACClaims, or `bare`, undici
 * that reads the list and throws it away. Started by `kube-sides.ts` with `--expose-gc`, it is told by messages what to
 * do and answers each.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import type { KubernetesListObject, KubernetesObject } from "@kubernetes/client-node";
import PromRegistry from "prom-client/lib/registry.js";
import type { Pool } from "undici";
import type { ReflectorRules } from "../../src/kube/informer/reflector-rules.ts";
import { countTraffic, type Traffic } from "./kube-traffic.ts";

export interface SubjectStart {
  readonly side: "ours" | "ours-pages" | "peer" | "bare" | "bare-plain";
  readonly kubeconfig: string;
  /** The same, for a client that needs no kubeconfig: as in a pod. */
  readonly server: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** How many objects to wait for. */
  readonly claims: number;
}

export interface Synced {
  readonly ms: number;
  readonly cpuMs: number;
  readonly heapMb: number;
  /** Before the informer was started, libraries loaded. */
  readonly heapBeforeMb: number;
  readonly peakRssMb: number;
  /** The longest time for which nothing else could run. */
  readonly longestTurnMs: number;
  readonly traffic: Traffic;
}

export interface Counts {
  readonly events: number;
  readonly cpuMs: number;
  readonly traffic: Traffic;
}

interface Subject {
  /** Resolves when all claims are in the cache and every handler was told. */
  start(): Promise<void>;
}

const GROUP = "macpool.network.kubevirt.io";
const VERSION = "v1alpha1";
const PLURAL = "macclaims";

const RULES = {
  ours: {},
  "ours-pages": { wholeList: false },
};
/** Both informers ask for a compressed list. */
const COMPRESSED = { "accept-encoding": "gzip" };

const traffic = countTraffic();
let events = 0;

async function ours({ server, tls }: SubjectStart, rules: Partial<ReflectorRules>): Promise<Subject> {
  const { KubeClient } = await import("../../src/kube/client/client.ts");
  const { Informer } = await import("../../src/kube/informer/informer.ts");
  const { CLAIMS } = await import("./kube-claims.ts");
  const current = { tls, headers: {} };
  const credentials = { server, namespace: undefined, source: "bench", current: async () => current, refresh() {} };
  const client = new KubeClient({ credentials });
  const informer = new Informer({ client, resource: CLAIMS, rules, metrics: new PromRegistry() });
  const count = () => {
    events++;
  };
  informer.on({ add: count, update: count, delete: count });
  return {
    start: async () => {
      informer.start(new AbortController().signal);
      await informer.whenSynced();
    },
  };
}

async function peer(kubeconfig: string, claims: number): Promise<Subject> {
  const { CustomObjectsApi, KubeConfig, makeInformer } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CustomObjectsApi);
  const list = (): Promise<KubernetesListObject<KubernetesObject>> =>
    api.listClusterCustomObject({ group: GROUP, version: VERSION, plural: PLURAL });
  const informer = makeInformer(config, `/apis/${GROUP}/${VERSION}/${PLURAL}`, list);
  const all = Promise.withResolvers<void>();
  const count = () => {
    events++;
    if (events === claims) all.resolve();
  };
  for (const verb of ["add", "update", "delete"] as const) informer.on(verb, count);
  informer.on("error", (error: unknown) => all.reject(error));
  return {
    start: async () => {
      informer.start().catch(all.reject);
      await all.promise;
    },
  };
}

async function bare({ server, tls }: SubjectStart, headers: Record<string, string>): Promise<Subject> {
  const { Pool } = await import("undici");
  const pool = new Pool(server, { connect: { ...tls } });
  return { start: () => throwAway(pool, `/apis/${GROUP}/${VERSION}/${PLURAL}`, headers) };
}

async function throwAway(pool: Pool, path: string, headers: Record<string, string>): Promise<void> {
  const { statusCode, body } = await pool.request({ method: "GET", path, headers });
  if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${await body.text()}`);
  for await (const _ of body) {
  }
}

function subjectOf(start: SubjectStart): Promise<Subject> {
  switch (start.side) {
    case "peer":
      return peer(start.kubeconfig, start.claims);
    case "bare":
      return bare(start, COMPRESSED);
    case "bare-plain":
      return bare(start, {});
    default:
      return ours(start, RULES[start.side]);
  }
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function heapMb(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed / 1e6;
}

async function sync(start: SubjectStart): Promise<Synced> {
  const subject = await subjectOf(start);
  const heapBeforeMb = await heapMb();
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  const [startedMs, startedCpuMs] = [performance.now(), cpuMs()];
  await subject.start();
  const ms = performance.now() - startedMs;
  // The last turn is counted when the next one begins.
  await new Promise((resolve) => setTimeout(resolve, 10));
  turns.disable();
  const usedCpuMs = cpuMs() - startedCpuMs;
  const peakRssMb = process.resourceUsage().maxRSS / 1e3;
  const longestTurnMs = turns.max / 1e6;
  const used = { ms, cpuMs: usedCpuMs, heapBeforeMb, peakRssMb, longestTurnMs, traffic: traffic() };
  return { ...used, heapMb: await heapMb() };
}

process.on("message", async (message: SubjectStart | "counts") => {
  if (message === "counts") {
    const counts: Counts = { events, cpuMs: cpuMs(), traffic: traffic() };
    process.send?.(counts);
    return;
  }
  process.send?.(await sync(message));
});
process.on("disconnect", () => process.exit(0));
