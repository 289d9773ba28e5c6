/**
 * The operator's own times on a real control plane with two nodes: linuxBridge and kubeMacPool from the configuration to the last
 * object, drift to its repair, a restart to a true status; what it writes while idle, its memory, its requests.
 * `OPERATOR_BENCH_IDLE_SECONDS` (60) is how long it is left alone.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { writeAppTree } from "../../deploy/image/app-tree.ts";
import { BURST_NODE_FLAGS, entryPoint } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { issueToken, mountedAccount } from "../mac-pool/account.ts";
import { DRIFT_EDITS } from "../operator/support/drift-edits.ts";
import { CONFIGS, NAMESPACE } from "../operator/support/installed-operator.ts";
import { isWrite, OperatorHarness } from "../operator/support/operator-harness.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { megabytesOf } from "../support/process-usage.ts";
import { ProductProcess } from "../support/product-process.ts";
import { type Bench, type BenchContext, limitedRow, median, percentile, row } from "./bench.ts";
import { of, type Request, summary } from "./cluster-requests.ts";
import { NAMESPACES } from "./needs.ts";

/** The operator as the image has it, in a process of its own with nothing but the rights of the release. */

/** `tree`: the image's root as a folder. A process that was killed is followed by one of the same name. */
async function startOperator(
  { controlPlane, admin }: OperatorHarness,
  tree: string,
  ports: { readonly health: number; readonly metrics: number },
): Promise<ProductProcess> {
  const directory = join(controlPlane.directory, "operator-account");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const token = await issueToken(admin, { name: OPERATOR_NAME, namespace: DEFAULT_NAMESPACE });
  const { argv, env } = await mountedAccount(directory, token, DEFAULT_NAMESPACE, controlPlane);
  return await ProductProcess.start({
    product: "operator",
    program: join(tree, entryPoint("operator")),
    prefix: argv,
    nodeOptions: BURST_NODE_FLAGS,
    env: {
      ...env,
      POD_NAME: "operator-1",
      OPERATOR_NAMESPACE: DEFAULT_NAMESPACE,
      HEALTH_PORT: String(ports.health),
      METRICS_PORT: String(ports.metrics),
    },
  });
}

const ROUNDS = 5;
const SHORT_ROUNDS = 2;
const IDLE_SECONDS = 60;
const SHORT_IDLE_SECONDS = 10;
const POLL_MS = 5;
const LIMIT_MS = 60_000;

const CREATED_MS = 1_500;
const REPAIRED_MS = 2_000;
const TRUTHFUL_MS = 2_000;
const RESIDENT_MB = 90;

const SPEC = { linuxBridge: {}, kubeMacPool: {} };
const CONFIG = { name: NETWORK_ADDONS_CONFIG_NAME };
const LEASE = { name: OPERATOR_NAME, namespace: NAMESPACE };
const INVENTORY = { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE };

export const bench: Bench = {
  about: "the operator on two nodes, in a process as the image has it",
  needs: NAMESPACES,
  async run(context) {
    const tree = await writeAppTree(context.log);
    await using harness = await OperatorHarness.start();
    const ports = { health: await freePort(), metrics: await freePort() };
    await using first = await startOperator(harness, tree, ports);
    await eventually("it is ready", async () => (await fetch(`http://127.0.0.1:${ports.health}/readyz`)).ok);
    await until("the operator leads", () => harness.cluster.isThere(RESOURCES.leases, LEASE));
    const rounds = context.short ? SHORT_ROUNDS : ROUNDS;
    const measurement = new Measurement(harness);
    const created = await measurement.creations(rounds, context);
    const repaired = await measurement.repairs(context);
    const look = await measurement.looks();
    const seconds = idleSeconds(context);
    context.log(`leaving it alone for ${seconds} s`);
    const idle = await measurement.idle(seconds);
    const megabytes = (["VmRSS", "RssAnon", "VmHWM"] as const).map((field) => megabytesOf(first.pid, field));
    const [residentMb = 0, privateMb = 0, peakMb = 0] = megabytes;
    await first[Symbol.asyncDispose]();
    const restarted = await measurement.restarts(rounds, () => startOperator(harness, tree, ports), context);
    return [
      limitedRow(
        "configuration created to all objects applied, longest",
        "ms",
        Math.max(...created.ms),
        null,
        CREATED_MS,
      ),
      row("configuration created to all objects applied: requests", "requests", created.requests, null, null),
      limitedRow(`drift to repaired, p99 of ${repaired.length}`, "ms", percentile(repaired, 0.99), null, REPAIRED_MS),
      row(`drift to repaired, p50 of ${repaired.length}`, "ms", median(repaired), null, null),
      limitedRow("restart to the first true status, longest", "ms", Math.max(...restarted.ms), null, TRUTHFUL_MS),
      row("restart until idle: requests", "requests", restarted.requests, null, null),
      row("a full reconcile with nothing to do: requests", "requests", look, null, null),
      limitedRow(`writes while idle for ${seconds} s`, "requests", idle.filter(isWrite).length, null, 0),
      limitedRow("resident", "MB", residentMb, null, RESIDENT_MB),
      row("resident, without the executable", "MB", privateMb, null, null),
      row("resident, largest", "MB", peakMb, null, null),
    ];
  },
};

function idleSeconds({ env, short }: BenchContext): number {
  return Number(env.OPERATOR_BENCH_IDLE_SECONDS ?? (short ? SHORT_IDLE_SECONDS : IDLE_SECONDS));
}

class Measurement {
  readonly #harness: OperatorHarness;

  constructor(harness: OperatorHarness) {
    this.#harness = harness;
  }

  /** The last configuration stays. */
  async creations(rounds: number, { log }: BenchContext): Promise<{ ms: number[]; requests: number }> {
    const { admin } = this.#harness;
    const ms: number[] = [];
    let requests = 0;
    while (ms.length < rounds) {
      if (ms.length > 0) {
        await admin.delete(CONFIGS, CONFIG);
        await until("the end of the configuration", async () => (await this.#harness.cluster.config()) === undefined);
      }
      // The API server answers after two seconds if the CRD was served for less. It holds no other request back.
      await admin.create(CONFIGS, { metadata: CONFIG, spec: SPEC });
      const startMs = performance.now();
      await this.#asked();
      await until("every object is applied", () => this.#isApplied());
      ms.push(performance.now() - startMs);
      const asked = await this.#asked();
      log(`created and applied in ${ms.at(-1)?.toFixed(0)} ms: ${summary(asked)}`);
      requests = asked.length;
      await this.#untilAvailable();
    }
    return { ms, requests };
  }

  /** Each kind of edit of others once, of what there is without components of other projects. */
  async repairs({ log }: BenchContext): Promise<number[]> {
    const { admin } = this.#harness;
    const times: number[] = [];
    for (const { resource, name, edits } of DRIFT_EDITS) {
      const ref = resource.namespaced ? { name, namespace: NAMESPACE } : { name };
      if ((await this.#harness.cluster.find(resource, ref)) === undefined) continue;
      for (const [what, ops] of Object.entries(edits)) {
        await this.#untilAvailable();
        const before = meaning(await admin.get(resource, ref));
        await admin.patch(resource, ref, { type: "json", ops });
        const startMs = performance.now();
        await until(`${name}: ${what} is taken back`, async () => {
          const live = await this.#harness.cluster.find(resource, ref);
          return live !== undefined && isDeepStrictEqual(meaning(live), before);
        });
        times.push(performance.now() - startMs);
      }
    }
    log(`${times.length} edits taken back, the slowest in ${Math.max(...times).toFixed(0)} ms`);
    return times;
  }

  /** Requests of a reconcile that finds everything as it has to be. */
  async looks(): Promise<number> {
    await this.#atRest();
    await this.#asked();
    const body = { metadata: { labels: { "example.com/looked-at": "yes" } } };
    const ref = { name: "bridge-marker", namespace: NAMESPACE };
    await this.#harness.admin.patch(RESOURCES.daemonSets, ref, { type: "merge", body });
    const seen: Request[] = [];
    await until("it looks", async () => {
      seen.push(...(await this.#asked()));
      return seen.length > 0;
    });
    await sleep(1_000);
    return [...seen, ...(await this.#asked())].length;
  }

  async idle(seconds: number): Promise<Request[]> {
    await this.#atRest();
    await this.#asked();
    await sleep(seconds * 1_000);
    return await this.#asked();
  }

  /** From the start of a process to a status that knows what was asked for meanwhile; requests of the last one until it rests. */
  async restarts(
    rounds: number,
    start: () => Promise<AsyncDisposable>,
    { log }: BenchContext,
  ): Promise<{ ms: number[]; requests: number }> {
    const ms: number[] = [];
    let requests = 0;
    while (ms.length < rounds) {
      const spec = { linuxBridge: { bridgeMarkerHealthPort: 9_000 + ms.length } };
      await this.#harness.admin.patch(CONFIGS, CONFIG, { type: "merge", body: { spec } });
      await this.#asked();
      const startMs = performance.now();
      await using _ = await start();
      await until("the status knows it", async () => {
        const { metadata, status } = (await this.#harness.cluster.config()) ?? {};
        return status?.observedGeneration === metadata?.generation;
      });
      ms.push(performance.now() - startMs);
      log(`started to a true status in ${ms.at(-1)?.toFixed(0)} ms`);
      await this.#untilAvailable();
      const asked = await this.#asked();
      log(`  ${summary(asked)}`);
      requests = asked.length;
    }
    return { ms, requests };
  }

  async #isApplied(): Promise<boolean> {
    const inventory = await this.#harness.cluster.find(RESOURCES.configMaps, INVENTORY);
    const entries = JSON.parse(inventory?.data?.objects ?? "[]") as readonly { readonly fingerprint?: string }[];
    return entries.length > 0 && entries.every(({ fingerprint }) => fingerprint !== undefined);
  }

  async #untilAvailable(): Promise<void> {
    await until("Available", async () => {
      const { metadata, status } = (await this.#harness.cluster.config()) ?? {};
      const available = status?.conditions?.find(({ type }) => type === "Available");
      return available?.status === "True" && status?.observedGeneration === metadata?.generation;
    });
  }

  /** Nothing was written for a second. */
  async #atRest(): Promise<void> {
    await until("rest", async () => {
      await this.#asked();
      await sleep(1_000);
      return !(await this.#asked()).some(isWrite);
    });
  }

  /** Since the last call; renewals of the Lease do not count. */
  async #asked(): Promise<Request[]> {
    const requests = of(await this.#harness.requests.next(), OPERATOR_NAME);
    return requests.filter(({ what }) => !what.endsWith(" leases"));
  }
}

function meaning({ apiVersion: _, kind: __, metadata: ___, status: ____, ...rest }: KubeObject): object {
  return rest;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + LIMIT_MS;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`waited ${LIMIT_MS / 1000} s for ${what}`);
    await sleep(POLL_MS);
  }
}
