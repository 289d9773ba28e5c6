/**
 * One random history: components are switched on, off and on, while somebody edits and deletes objects, the operator is
 * killed between two writes, and one thing is wrong with the cluster for a while. Afterwards the cluster has to be what its
 * configuration asks for, and the status has to say so.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { NETWORK_ADDONS_CONFIG_NAME } from "../../../src/api/names.ts";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import { type Log, silentLog } from "../../../src/kube/log.ts";
import { Random } from "../../support/random.ts";
import { CONFIGS } from "../support/installed-operator.ts";
import type { OperatorHarness } from "../support/operator-harness.ts";
import { Incarnation } from "./incarnation.ts";
import { faultOf, type Lasting } from "./lasting-faults.ts";
import { meddle } from "./other-writers.ts";
import { Truth } from "./truth.ts";

export interface SequenceOptions {
  readonly harness: OperatorHarness;
  readonly seed: number;
  /** Called with every step. */
  readonly onStep?: (line: string) => void;
  /** The operator's. */
  readonly log?: Log;
}

type Name = keyof NetworkAddonsConfigSpec;

const PARTS: Readonly<Partial<Record<Name, readonly object[]>>> = {
  linuxBridge: [{}, { cniBinDir: "/var/lib/cni/bin" }, { bridgeMarkerHealthPort: 0 }],
  kubeMacPool: [{ rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" }],
  multus: [{}],
  multusDynamicNetworks: [{}],
  ovs: [{}],
  macvtap: [{}],
  kubeSecondaryDNS: [{}, { domain: "example.com" }],
  kubevirtIpamController: [{}],
};
const NAMES = Object.keys(PARTS) as Name[];

const STEPS = 6;
const LONGEST_PAUSE_MS = 250;
const LONGEST_LIFE_MS = 700;
const MAX_WRITES = 60;
const QUIET_LIMIT_MS = 90_000;

/** Throws with everything that is wrong, and with what happened before. */
export async function runSequence(options: SequenceOptions): Promise<void> {
  await using sequence = await Sequence.begin(options);
  await sequence.run();
}

class Sequence implements AsyncDisposable {
  readonly #options: SequenceOptions;
  readonly #random: Random;
  readonly #steps: string[] = [];
  readonly #startedMs = performance.now();
  readonly #spec = new Map<Name, object>();
  readonly #ended: Incarnation[] = [];
  #operator: Incarnation;
  #lasting: Lasting | undefined;

  private constructor(options: SequenceOptions, operator: Incarnation) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#operator = operator;
  }

  static async begin(options: SequenceOptions): Promise<Sequence> {
    const { harness, log = silentLog } = options;
    const sequence = new Sequence(options, await Incarnation.start(harness, log));
    const config = await harness.cluster.config();
    for (const name of NAMES) {
      const part = config?.spec?.[name];
      if (part !== undefined) sequence.#spec.set(name, part as object);
    }
    return sequence;
  }

  async run(): Promise<void> {
    const random = this.#random;
    const fault = faultOf(this.#options.seed, random);
    const [begin, end] = [random.below(STEPS / 2), STEPS / 2 + random.below(STEPS / 2)];
    for (let step = 0; step < STEPS; step++) {
      if (step === begin && fault !== undefined) {
        this.#lasting = await fault(this.#options.harness, random, (work) => this.#withoutOperator(work));
        this.#record(this.#lasting.what);
      }
      await this.#step();
      if (step === end || this.#lasting?.isShort === true) await this.#endFault();
      await sleep(random.below(LONGEST_PAUSE_MS));
    }
    await this.#endFault();
    if (random.chance(0.9)) await this.#ask();
    await this.#quiet();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endFault();
    for (const operator of [...this.#ended, this.#operator]) await operator[Symbol.asyncDispose]();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const what = random.weighted({ switch: 4, meddle: 3, kill: 2, remove: 0.5 });
    if (what === "switch") {
      const name = random.pick(NAMES);
      if (!this.#spec.delete(name)) this.#spec.set(name, random.pick(PARTS[name] ?? []));
      await this.#ask();
    } else if (what === "meddle") {
      this.#record(`others: ${(await meddle(this.#options.harness, random)).join(", ") || "nothing"}`);
    } else if (what === "kill") {
      const writes = random.below(MAX_WRITES);
      await this.#operator.killAfter(writes, random.below(LONGEST_LIFE_MS));
      this.#record(`the operator is killed before its ${writes}th write`);
      await sleep(random.below(LONGEST_PAUSE_MS));
      await this.#restart();
    } else {
      await this.#tryTo("delete the configuration", async () => {
        await this.#options.harness.admin.delete(CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME });
      });
    }
  }

  #restart(): Promise<void> {
    return this.#withoutOperator(async () => {});
  }

  async #withoutOperator(work: () => Promise<void>): Promise<void> {
    const { harness, log = silentLog } = this.#options;
    this.#operator.kill();
    this.#ended.push(this.#operator);
    await work();
    this.#operator = await Incarnation.start(harness, log);
  }

  async #endFault(): Promise<void> {
    const lasting = this.#lasting;
    if (lasting === undefined) return;
    this.#lasting = undefined;
    await lasting.end();
    this.#record(`no more: ${lasting.what}`);
    if (lasting.isRemembered) await this.#restart();
  }

  /** Writes what is asked for. Where the API server is away, somebody asks again later. */
  async #ask(): Promise<void> {
    const asked = new Map(this.#spec);
    if (asked.has("multusDynamicNetworks")) asked.set("multus", {});
    const parts = NAMES.map((name) => [name, asked.get(name) ?? null] as const);
    const spec = Object.fromEntries(parts);
    await this.#tryTo(`ask for ${[...asked.keys()].join(", ") || "nothing"}`, async () => {
      const { admin } = this.#options.harness;
      try {
        const ref = { name: NETWORK_ADDONS_CONFIG_NAME };
        await admin.patch(CONFIGS, ref, { type: "merge", body: { spec } });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        const metadata = { name: NETWORK_ADDONS_CONFIG_NAME };
        await admin.create(CONFIGS, { metadata, spec: Object.fromEntries(asked) });
      }
    });
  }

  async #tryTo(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#record(what);
    } catch (error) {
      this.#record(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #quiet(): Promise<void> {
    try {
      await new Truth(this.#options.harness.cluster).comes(QUIET_LIMIT_MS);
      if (this.#operator.failure !== undefined) throw this.#operator.failure;
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw new Error([`seed ${this.#options.seed}`, ...this.#steps, what].join("\n  "), { cause: error });
    }
    this.#record("quiet");
  }

  #record(step: string): void {
    const line = `${((performance.now() - this.#startedMs) / 1000).toFixed(2)} s: ${step}`;
    this.#steps.push(line);
    this.#options.onStep?.(line);
  }
}
