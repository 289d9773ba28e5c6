import { WAIT_AS_RECEIVER } from "../../../src/api/mac-pool-scope.ts";
import { VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { machine, macsOf } from "../machines.ts";
import type { Outcomes } from "./outcomes.ts";

export interface TenantsOptions {
  readonly client: KubeClient;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly outcomes: Outcomes;
  /** Unique among the tenants: part of the names of its namespaces and of its addresses. */
  readonly number: number;
  readonly sourceNamespace: string;
}

const MACHINES = 5;
/** A call that meets a stopped replica waits for the webhook's time-out. */
const CALL_TIMEOUT_MS = 40_000;
const CALL = { timeoutMs: CALL_TIMEOUT_MS };

/** What goes on with namespaces as a whole: they are deleted with their VMs, opt in and out, receive migrations. */
export class Tenants {
  readonly #options: TenantsOptions;
  readonly #optedOut = new Set<string>();
  #count = 0;

  constructor(options: TenantsOptions) {
    this.#options = options;
  }

  /** Ends with every namespace opted in. */
  async run(signal: AbortSignal): Promise<void> {
    const moves = [() => this.#deleteNamespace(), () => this.#optIn(), () => this.#receive()];
    while (!signal.aborted) {
      const move = moves[Math.floor(this.#options.random() * moves.length)];
      await move?.().catch((error: unknown) => this.#options.outcomes.judge(error));
    }
    for (const name of this.#optedOut) await this.#setMode(name, "allocate");
  }

  async #deleteNamespace(): Promise<void> {
    const namespace = await this.#namespace("allocate");
    for (let index = 0; index < MACHINES; index++) {
      await this.#create(machine(`vm-${index}`, namespace, [{ name: "a" }, { name: "b" }]));
    }
    await this.#options.client.delete(RESOURCES.namespaces, { name: namespace }, CALL);
    this.#options.outcomes.operations++;
  }

  /** VMs with addresses that the pool was never asked about, which it has to learn of. */
  async #optIn(): Promise<void> {
    const { number, outcomes } = this.#options;
    const namespace = await this.#namespace("ignore");
    this.#optedOut.add(namespace);
    for (let index = 0; index < MACHINES; index++) {
      const octets = [number, this.#count >> 8, this.#count & 0xff, index].map((octet) =>
        octet.toString(16).padStart(2, "0"),
      );
      await this.#create(machine(`vm-${index}`, namespace, [{ name: "a", macAddress: `06:5d:${octets.join(":")}` }]));
    }
    await this.#setMode(namespace, "allocate");
    this.#optedOut.delete(namespace);
    outcomes.operations++;
  }

  /** A migration to another namespace that is cancelled: its target is refused, or the source has gone first. */
  async #receive(): Promise<void> {
    const { client, sourceNamespace, random, outcomes } = this.#options;
    const namespace = await this.#namespace("allocate");
    const name = `${namespace}-vm`;
    const source = await this.#create(machine(name, sourceNamespace, [{ name: "a" }]));
    const [macAddress] = macsOf(source);
    if (macAddress === undefined) return;
    const bare = machine(name, namespace, [{ name: "a", macAddress }]);
    await this.#create({ ...bare, spec: { ...(bare.spec as object), runStrategy: WAIT_AS_RECEIVER } });
    const goesFirst = random() < 0.5;
    const end = (): Promise<void> =>
      client.delete(KINDS.virtualMachines, { name, namespace: sourceNamespace }, { ...CALL, gracePeriodSeconds: 0 });
    if (goesFirst) await end();
    const spec = { runStrategy: "Halted" };
    await client
      .patch(KINDS.virtualMachines, { name, namespace }, { type: "merge", body: { spec } }, CALL)
      .catch((error: unknown) => outcomes.judge(error));
    if (!goesFirst) await end();
    outcomes.operations++;
  }

  async #create(vm: KubeObject): Promise<KubeObject> {
    const { client, outcomes } = this.#options;
    const created = await client.create(KINDS.virtualMachines, vm, CALL);
    outcomes.operations++;
    outcomes.allocations += macsOf(created).length;
    return created;
  }

  async #namespace(mode: string): Promise<string> {
    const name = `tenant-${this.#options.number}-${this.#count++}`;
    await this.#options.client.create(
      RESOURCES.namespaces,
      { metadata: { name, labels: { [VM_WEBHOOK]: mode } } },
      CALL,
    );
    return name;
  }

  #setMode(name: string, mode: string): Promise<unknown> {
    const labels = { [VM_WEBHOOK]: mode };
    return this.#options.client.patch(
      RESOURCES.namespaces,
      { name },
      { type: "merge", body: { metadata: { labels } } },
      CALL,
    );
  }
}
