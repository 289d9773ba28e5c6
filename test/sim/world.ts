import type { NodeMACs } from "../../src/api/node-macs.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { Refusal } from "../../src/mac-pool/claims/refusals.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { keyOf, ObjectStore } from "../support/object-store.ts";
import { Random } from "../support/random.ts";
import { Auditor, Violation } from "./audit.ts";
import { FullnessCheck } from "./fullness.ts";
import { EPOCH_MS } from "./host.ts";
import { Listings } from "./listings.ts";
import { CALM, Network } from "./network.ts";
import { type HolderKind, macsHeld, wishesOf } from "./objects.ts";
import type { Plan } from "./plan.ts";
import { isLeftAlone } from "./rest.ts";
import { Scheduler } from "./scheduler.ts";
import type { SimCluster } from "./sim-client.ts";
import { type Seams, SimReplica } from "./sim-replica.ts";
import { Submission, type Wanted } from "./submission.ts";
import { Tenancy } from "./tenancy.ts";
import { refOf, VirtController } from "./virt-controller.ts";

const NAMES = ["node-a", "node-b"] as const;
/** A node that reports so many of the few addresses leaves some in any pool but the smallest. */
const MOST = 2;

/** The nodes of the simulated cluster, as far as their markers report addresses. */
class Nodes {
  readonly #etcd: ObjectStore;
  readonly #tenancy: Tenancy;

  constructor(etcd: ObjectStore, tenancy: Tenancy) {
    this.#etcd = etcd;
    this.#tenancy = tenancy;
  }

  /** A node reports other addresses, or is gone. */
  change(random: Random): void {
    const name = random.pick(NAMES);
    const old = this.#etcd.get(KINDS.nodeMacs.plural, name);
    if (old !== undefined && random.chance(0.4)) {
      this.#etcd.remove(KINDS.nodeMacs, { name });
      return;
    }
    const numbers = Array.from({ length: random.below(MOST + 1) }, () => random.below(this.#tenancy.addressCount));
    const addresses = [...new Set(numbers)].map((number) => ({ mac: this.#tenancy.mac(number), interface: "eth0" }));
    if (old !== undefined) {
      this.#etcd.update(KINDS.nodeMacs, { ...old, addresses });
      return;
    }
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: name }];
    this.#etcd.create(KINDS.nodeMacs, { kind: "NodeMACs", metadata: { name, ownerReferences }, addresses });
  }

  reported(): ReadonlySet<string> {
    const reports = this.#etcd.list(KINDS.nodeMacs.plural) as unknown as NodeMACs[];
    return new Set(reports.flatMap(({ addresses }) => addresses.map(({ mac }) => mac)));
  }
}

/** What the kubelet and the start of the process take. */
const CONTAINER_RESTART_MS = 500;

/** A simulated cluster with everything in it, and what may be done to it. */
export class World implements SimCluster {
  readonly scheduler = new Scheduler();
  readonly etcd: ObjectStore;
  readonly network: Network;
  readonly random: Random;
  readonly auditor: Auditor;
  readonly virt: VirtController;
  readonly plan: Plan;
  readonly tenancy: Tenancy;
  readonly nodes: Nodes;
  readonly fullness: FullnessCheck;
  readonly listings = new Listings(() => this.scheduler.nowMs);
  readonly replicas: SimReplica[] = [];
  /** Lines of what happened, kept when somebody wants to read them. */
  readonly history: string[] | undefined;
  chaos = false;
  /** Every API server is stopped, and etcd has lost its last history. */
  isRestoring = false;
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
    this.etcd = new ObjectStore(() => EPOCH_MS + this.scheduler.nowMs);
    this.etcd.watch(({ object, version }) => {
      for (const char of keyOf(object.metadata)) this.scheduler.note(char.charCodeAt(0));
      this.scheduler.note(version);
    });
    this.auditor = new Auditor(this.etcd, () => this.scheduler.nowMs);
    this.fullness = new FullnessCheck(this);
    this.virt = new VirtController(this);
    this.auditor.isExclusive = plan.exclusive;
    this.auditor.mayBeApart = (...parties) => parties.every(({ namespace }) => this.tenancy.isPerNetwork(namespace));
    this.auditor.isManaged = ({ id, party: { kind, namespace } }) =>
      this.tenancy.manages(kind, namespace) && !isLeftAlone(this, id);
    this.auditor.isObserved = ({ id, party: { kind, namespace } }, mac) =>
      !this.tenancy.mayOnlyList(kind, namespace, mac) && !isLeftAlone(this, id);
    if (history !== undefined) this.etcd.watch(({ type, object }) => this.#record(type, object));
    this.tenancy = new Tenancy(this.etcd, plan);
    this.nodes = new Nodes(this.etcd, this.tenancy);
    if (plan.kubevirtAtMs > 0) this.removeKubevirt(plan.kubevirtAtMs);
    for (let slot = 0; slot < plan.replicas; slot++) this.startReplica(slot);
  }

  submit(wanted: Wanted): void {
    new Submission(this, wanted).begin();
  }

  /** Replicas that the API server sends webhook calls to. */
  readonly endpoints = (): SimReplica[] => this.replicas.filter((replica) => replica.isReady);

  startReplica(slot: number): void {
    const incarnation = ++this.#incarnations;
    const replica = new SimReplica({
      cluster: this,
      name: `replica-${slot}-${incarnation}`,
      seed: [...this.plan.seed, 3, incarnation],
      skewMs: Math.round((slot - 1) * this.plan.skewMs),
      alwaysLeads: this.plan.splitBrain,
      seams: this.#seams,
      onRestored: () => this.scheduler.after(CONTAINER_RESTART_MS, () => this.restart(slot)),
    });
    this.replicas[slot] = replica;
    this.fullness.follow(replica);
    this.listings.follow(replica);
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
    this.tenancy.restore();
    this.etcd.absent.clear();
  }

  restartApi(downMs: number): void {
    this.faults += 1;
    this.network.apiIsUp = false;
    for (const replica of this.replicas) replica.cutWatches();
    this.scheduler.after(downMs, () => {
      if (!this.isRestoring) this.network.apiIsUp = true;
    });
  }

  /** A snapshot is taken, and after some time comes back in place of all that was written since. Every API server is stopped meanwhile. */
  restoreEtcd(afterMs: number, downMs: number): void {
    const [etcd, audit] = [this.etcd.snapshot(), this.auditor.snapshot()];
    const { restores } = this.etcd;
    this.scheduler.after(afterMs, () => {
      if (!this.chaos || this.isRestoring || this.etcd.restores !== restores) return;
      this.note(`etcd goes back from version ${this.etcd.version} to ${etcd.version}`);
      this.isRestoring = true;
      this.restartApi(downMs);
      this.etcd.restore(etcd);
      this.auditor.restore(audit);
      this.scheduler.after(downMs, () => {
        this.isRestoring = false;
        this.network.apiIsUp = true;
      });
    });
  }

  /** KubeVirt's definitions go for a while, and with them all that was made by them. */
  removeKubevirt(forMs: number): void {
    this.faults += 1;
    for (const resource of [KINDS.virtualMachines, KINDS.instances]) {
      for (const object of this.etcd.list(resource.plural)) this.etcd.remove(resource, refOf(keyOf(object.metadata)));
      this.etcd.absent.add(resource.plural);
    }
    for (const replica of this.replicas) replica.cutWatches();
    this.scheduler.after(forMs, () => this.etcd.absent.clear());
  }

  /** An administrator deletes every claim by hand, while nothing is under way. */
  wipeClaims(): void {
    this.faults += 1;
    for (const { metadata } of this.etcd.list(KINDS.claims.plural)) {
      this.auditor.forgive(metadata.name ?? "");
      this.etcd.remove(KINDS.claims, { name: metadata.name ?? "" });
    }
  }

  refused(
    wanted: Wanted,
    object: KubeObject,
    refusal: Refusal | undefined,
    calledMs: number,
    replica: SimReplica,
  ): void {
    this.countRefusal(refusal, `${wanted.kind} in ${wanted.namespace} at ${replica.host.name}`);
    const { owners = [] } = refusal?.naming ?? {};
    const stranger = owners.find(({ kind, namespace }) => kind === "Pod" && !this.tenancy.hasManagedPods(namespace));
    if (stranger !== undefined)
      throw new Violation("strangers", `refused for a pod of ${stranger.namespace}: ${refusal?.message}`);
    if (refusal?.code !== "MACPOOL_FULL") return;
    this.fullness.check(wanted, refusal.message, macsHeld(object), wishesOf(object), calledMs, replica);
  }

  countRefusal(refusal: Refusal | undefined, what: string): void {
    const code = refusal?.code ?? "unknown";
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
    this.note(`refused ${what}: ${refusal?.message}`);
  }

  /** A new object starts its life. */
  stored(kind: HolderKind, object: KubeObject): void {
    if (kind === "VirtualMachine" && this.random.chance(0.5)) {
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      this.scheduler.after(this.random.between(1, 2_000), () => this.virt.hotplug(key));
    }
  }

  note(line: string): void {
    this.history?.push(`${(this.scheduler.nowMs / 1000).toFixed(3)} ${line}`);
  }

  #record(type: string, object: KubeObject): void {
    const { name, namespace, resourceVersion } = object.metadata;
    if (object.kind === undefined) return;
    const claim = object.kind === "MACClaim" ? ` ${JSON.stringify(object.status)}` : "";
    const macs = object.kind === "MACPool" || claim !== "" ? "" : ` ${JSON.stringify(object.spec)}`;
    this.note(`${type} ${object.kind} ${namespace ?? ""}/${name} @${resourceVersion}${claim}${macs.slice(0, 300)}`);
  }
}
