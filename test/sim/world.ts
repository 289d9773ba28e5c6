import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { Refusal } from "../../src/mac-pool/core/refusals.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { Auditor } from "./audit.ts";
import { Etcd } from "./etcd.ts";
import { FullnessCheck } from "./fullness.ts";
import { CALM, Network } from "./network.ts";
import { type HolderKind, macsHeld, wishesOf } from "./objects.ts";
import type { Plan } from "./plan.ts";
import { Random } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import type { SimCluster } from "./sim-client.ts";
import { type Seams, SimReplica } from "./sim-replica.ts";
import { macText, Submission, type Wanted } from "./submission.ts";
import { VirtController } from "./virt-controller.ts";

/** Namespaces whose objects the pool manages, and one whose objects it only observes. */
export const MANAGED = ["red", "blue"] as const;
export const UNMANAGED = "wild";

const FIRST_MAC = 0x020000000000;

/** A simulated cluster with everything in it, and what may be done to it. */
export class World implements SimCluster {
  readonly scheduler = new Scheduler();
  readonly etcd: Etcd;
  readonly network: Network;
  readonly random: Random;
  readonly auditor: Auditor;
  readonly virt: VirtController;
  readonly plan: Plan;
  readonly fullness: FullnessCheck;
  readonly replicas: SimReplica[] = [];
  /** Lines of what happened, kept when somebody wants to read them. */
  readonly history: string[] | undefined;
  chaos = false;
  faults = 0;
  allocations = 0;
  failedRequests = 0;
  readonly refusals = new Map<string, number>();
  readonly #seams: Seams;
  #incarnations = 0;

  constructor(plan: Plan, seams: Seams, history?: string[]) {
    this.plan = plan;
    this.#seams = seams;
    this.history = history;
    this.random = new Random(...plan.seed, 1);
    this.network = new Network(new Random(...plan.seed, 2));
    this.etcd = new Etcd(this.scheduler);
    this.auditor = new Auditor(this.etcd, () => this.scheduler.nowMs);
    this.fullness = new FullnessCheck(this);
    this.virt = new VirtController(this);
    if (history !== undefined) this.etcd.watch(({ type, object }) => this.#record(type, object));
    this.#furnish();
    for (let slot = 0; slot < plan.replicas; slot++) this.startReplica(slot);
  }

  isManaged(namespace: string): boolean {
    return namespace !== UNMANAGED;
  }

  submit(wanted: Wanted): void {
    new Submission(this, wanted).begin();
  }

  /** Replicas that the API server sends webhook calls to. */
  readonly endpoints = (): SimReplica[] => this.replicas.filter((replica) => replica.isReady);

  startReplica(slot: number): void {
    const incarnation = ++this.#incarnations;
    this.replicas[slot] = new SimReplica({
      cluster: this,
      name: `replica-${slot}-${incarnation}`,
      seed: [...this.plan.seed, 3, incarnation],
      skewMs: Math.round((slot - 1) * this.plan.skewMs),
      alwaysLeads: this.plan.splitBrain,
      seams: this.#seams,
    });
    this.fullness.follow(this.replicas[slot]);
  }

  killReplica(slot: number): void {
    this.faults += 1;
    this.replicas[slot]?.kill();
  }

  /** Starts a replica where one has died. */
  restart(slot: number): void {
    if (this.replicas[slot]?.host.isAlive === false) this.startReplica(slot);
  }

  /** Ends every trouble: who is dead starts again, who is stopped goes on. */
  calm(): void {
    this.chaos = false;
    this.network.weather = CALM;
    this.network.partitioned.clear();
    this.network.apiIsUp = true;
    for (const [slot, replica] of this.replicas.entries()) {
      replica.host.resume();
      if (replica.isStopping) replica.kill();
      this.restart(slot);
    }
    if (this.etcd.get(KINDS.pools.plural, "default") === undefined) this.setPool("default", this.plan.poolSize);
  }

  restartApi(downMs: number): void {
    this.faults += 1;
    this.network.apiIsUp = false;
    for (const replica of this.replicas) replica.cutWatches();
    this.scheduler.after(downMs, () => {
      this.network.apiIsUp = true;
    });
  }

  /** The n-th address of the simulated cluster; pools start at the first. */
  mac(number: number): string {
    return macText(FIRST_MAC + number);
  }

  refused(
    wanted: Wanted,
    object: KubeObject,
    refusal: Refusal | undefined,
    calledMs: number,
    replica: SimReplica,
  ): void {
    const code = refusal?.code ?? "unknown";
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
    this.note(`refused ${wanted.kind} in ${wanted.namespace} at ${replica.host.name}: ${refusal?.message}`);
    if (code === "MACPOOL_FULL") this.fullness.check(wanted, macsHeld(object), wishesOf(object), calledMs, replica);
  }

  /** A new object starts its life. */
  stored(kind: HolderKind, object: KubeObject): void {
    if (kind === "VirtualMachine" && this.random.chance(0.5)) {
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      this.scheduler.after(this.random.between(1, 2_000), () => this.virt.hotplug(key));
    }
  }

  setPool(name: string, capacity: number, more: object = {}): void {
    const ranges = [{ start: this.mac(0), end: this.mac(capacity - 1) }];
    const spec = { ranges, quarantineSeconds: this.plan.quarantineSeconds, conflictPolicy: "Deny", ...more };
    if ((more as { conflictPolicy?: string }).conflictPolicy === "Warn") this.auditor.allowsSharing = true;
    const old = this.etcd.get(KINDS.pools.plural, name);
    const pool = { apiVersion: "macpool.network.kubevirt.io/v1alpha1", kind: "MACPool", metadata: { name }, spec };
    if (old === undefined) this.etcd.create(KINDS.pools, pool);
    else this.etcd.update(KINDS.pools, { ...old, spec: { ...(old.spec as object), ...more, ranges } });
  }

  note(line: string): void {
    this.history?.push(`${(this.scheduler.nowMs / 1000).toFixed(3)} ${line}`);
  }

  #furnish(): void {
    for (const name of [...MANAGED, UNMANAGED]) {
      const label = name === UNMANAGED ? "ignore" : "allocate";
      const labels = { "mutatevirtualmachines.kubemacpool.io": label, "mutatepods.kubemacpool.io": label };
      this.etcd.create(KINDS.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    }
    this.setPool("default", this.plan.poolSize, { conflictPolicy: this.plan.conflictPolicy });
  }

  #record(type: string, object: KubeObject): void {
    const { name, namespace, resourceVersion } = object.metadata;
    if (object.kind === undefined) return;
    const claim = object.kind === "MACClaim" ? ` ${JSON.stringify(object.status)}` : "";
    const macs = object.kind === "MACPool" || claim !== "" ? "" : ` ${JSON.stringify(object.spec)}`;
    this.note(`${type} ${object.kind} ${namespace ?? ""}/${name} @${resourceVersion}${claim}${macs.slice(0, 300)}`);
  }
}
