import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../../src/kube/client/resource.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { machine, macsOf, type TestInterface } from "../machines.ts";
import type { Outcomes } from "./outcomes.ts";

export interface WorkloadOptions {
  readonly client: KubeClient;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly outcomes: Outcomes;
  /** One of them for each VM. */
  readonly machineNamespaces: readonly string[];
  readonly podNamespace: string;
}

interface Living {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Addresses that many objects ask for by name, so that requests meet. */
const CONTESTED = 16;
/** Objects of one worker that live at the same time. */
const MAX_LIVING = 20;
/** A call that meets a stopped replica waits for the webhook's time-out. */
const CALL_TIMEOUT_MS = 40_000;

/** Creates, changes and deletes VMs and pods, one call at a time, and has its answers counted. */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #name: string;
  readonly #living: Living[] = [];
  #count = 0;

  constructor(name: string, options: WorkloadOptions) {
    this.#name = name;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#step();
        this.#options.outcomes.operations++;
      } catch (error) {
        this.#options.outcomes.judge(error);
      }
    }
  }

  async #step(): Promise<void> {
    const draw = this.#options.random();
    if (this.#living.length >= MAX_LIVING || (draw < 0.35 && this.#living.length > 0)) return this.#remove();
    if (draw < 0.5 && this.#living.length > 0) return this.#change();
    return draw < 0.85 ? this.#createMachine() : this.#createPod();
  }

  async #createMachine(): Promise<void> {
    const { machineNamespaces, random } = this.#options;
    const namespace = machineNamespaces[Math.floor(random() * machineNamespaces.length)] ?? "default";
    const object = machine(this.#nextName(), namespace, this.#nics());
    await this.#create(KINDS.virtualMachines, this.#perhapsUnnamed(object));
  }

  async #createPod(): Promise<void> {
    const networks = this.#nics().map(({ macAddress }) => ({ name: "n", ...(macAddress && { mac: macAddress }) }));
    const metadata = {
      name: this.#nextName(),
      namespace: this.#options.podNamespace,
      annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(networks) },
    };
    await this.#create(
      KINDS.pods,
      this.#perhapsUnnamed({ metadata, spec: { containers: [{ name: "c", image: "none" }] } }),
    );
  }

  async #create(resource: Resource, object: KubeObject): Promise<void> {
    const created = await this.#options.client.create(resource, object, { timeoutMs: CALL_TIMEOUT_MS });
    this.#living.push({ resource, object: created });
    this.#options.outcomes.allocations += resource === KINDS.pods ? 1 : macsOf(created).length;
  }

  async #change(): Promise<void> {
    const index = Math.floor(this.#options.random() * this.#living.length);
    const chosen = this.#living[index];
    if (chosen === undefined || chosen.resource !== KINDS.virtualMachines) return this.#createMachine();
    const { name = "", namespace = "" } = chosen.object.metadata;
    const object = { ...machine(name, namespace, this.#nics()), metadata: chosen.object.metadata };
    const changed = await this.#options.client.update(chosen.resource, object, { timeoutMs: CALL_TIMEOUT_MS });
    this.#living[index] = { resource: chosen.resource, object: changed };
  }

  async #remove(): Promise<void> {
    const index = Math.floor(this.#options.random() * this.#living.length);
    const [chosen] = this.#living.splice(index, 1);
    if (chosen === undefined) return this.#createMachine();
    const { name = "", namespace = "" } = chosen.object.metadata;
    await this.#options.client.delete(chosen.resource, { name, namespace }, { gracePeriodSeconds: 0 });
  }

  #nics(): TestInterface[] {
    const draw = this.#options.random();
    if (draw < 0.15) {
      const last = Math.floor(this.#options.random() * CONTESTED);
      return [{ name: "a", macAddress: `02:00:00:00:ff:${last.toString(16).padStart(2, "0")}` }];
    }
    return draw < 0.6 ? [{ name: "a" }] : [{ name: "a" }, { name: "b" }];
  }

  #nextName(): string {
    return `${this.#name}-${this.#count++}`;
  }

  #perhapsUnnamed(object: KubeObject): KubeObject {
    if (this.#options.random() > 0.2) return object;
    const { name, ...metadata } = object.metadata;
    return { ...object, metadata: { ...metadata, generateName: `${name}-` } };
  }
}
