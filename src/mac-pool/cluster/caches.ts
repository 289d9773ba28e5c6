import type { Registry } from "prom-client";
import { claimName, formatMac, type Mac, macOfClaimName } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim, OwnerKind, ShownPhase } from "../../api/mac-claim.ts";
import type { ConflictPolicy, ConflictScope, MACPool } from "../../api/mac-pool.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import { type Clock, systemClock } from "../../kube/clock.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { statusOf } from "../claims/claim.ts";
import { mayBe, type ObjectReference, type ObservedOwner } from "../claims/owner.ts";
import {
  type AttachedMac,
  attachedMacs,
  distinctPlaces,
  type FindInstance,
  instanceMacs,
  machineMacs,
  machineOf,
  podMacs,
} from "../objects/listed-macs.ts";
import { isManaged } from "../objects/management.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import { Departures } from "./departures.ts";
import { IndexFeed } from "./index-feed.ts";
import { BY_INSTANCE, BY_MAC, BY_RUNNING, BY_UPDATED, isAttached, makeInformers } from "./informers.ts";
import { KnownNodes } from "./known-nodes.ts";
import { NetworkDomains } from "./network-domains.ts";
import { PendingAdmissions } from "./pending-admissions.ts";
import { instanceWith, podWith, type RunningAt } from "./running-now.ts";
import { type CachedOwner, hasSay, poolOf } from "./standing.ts";
import { UnstartedMachines } from "./unstarted-machines.ts";

export interface CachesOptions {
  readonly client: KubeClient;
  readonly log: Log;
  readonly metrics: Registry;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Namespaces whose objects are never managed. */
  readonly excludedNamespaces: readonly string[];
}

/**
 * One replica's view of the cluster: informers, and the pool index that they feed. Every replica has it, leader or not.
 * Kinds that the cluster does not have (yet) are empty.
 */
export class Caches {
  readonly index: PoolIndex;
  readonly claims: Informer<MACClaim>;
  readonly pools: Informer<MACPool>;
  readonly machines: Informer<KubeObject>;
  readonly instances: Informer<KubeObject>;
  readonly pods: Informer<KubeObject>;
  readonly namespaces: Informer<KubeObject>;
  readonly nodeMacs: Informer<NodeMACs>;
  readonly networks: NetworkDomains;
  readonly nodes: KnownNodes;
  readonly admissions: PendingAdmissions;
  readonly unstarted: UnstartedMachines;
  readonly departures: Departures;
  readonly excludedNamespaces: readonly string[];
  readonly #feed: IndexFeed;

  constructor(options: CachesOptions) {
    this.excludedNamespaces = options.excludedNamespaces;
    const { excludedNamespaces: _excluded, ...parts } = options;
    const informers = makeInformers(parts);
    this.claims = informers.claims;
    this.pools = informers.pools;
    this.machines = informers.machines;
    this.instances = informers.instances;
    this.pods = informers.pods;
    this.namespaces = informers.namespaces;
    this.nodeMacs = informers.nodeMacs;
    const clock = options.clock ?? systemClock;
    this.#feed = new IndexFeed(informers, clock, (mac) => this.isListed(mac));
    this.index = this.#feed.index;
    this.admissions = new PendingAdmissions(informers, {
      clock,
      pendingMs: () => this.index.pendingMs,
      isManaged: (kind, object) => this.#isManaged(kind, object),
      mayOptOut: (labels) => this.index.mayOptOut(labels),
      isListed: (mac) => this.isListed(mac),
    });
    this.unstarted = new UnstartedMachines(this.machines);
    this.departures = new Departures(informers, clock);
    this.networks = new NetworkDomains({ ...parts, scopeIn: (namespace) => this.#scopeIn(namespace) });
    this.nodes = new KnownNodes(parts);
    const needNetworks = ({ spec }: MACPool): void => {
      if (spec?.conflictScope === "Network") this.networks.need();
    };
    this.pools.on({ add: needNetworks, update: needNetworks });
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#all(), this.networks, this.nodes].map((watched) => watched.run(signal)));
  }

  /** Ends the waits for the API server's next answer. `relist`: and lists every kind anew. */
  retryNow(relist: boolean): void {
    for (const informer of [...this.#all(), this.networks, this.nodes]) informer.retryNow(relist);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.whenSynced(signal)));
    this.#feed.findPending();
  }

  get hasSynced(): boolean {
    return this.#all().every((informer) => informer.hasSynced);
  }

  /** What is wrong with a pool's spec; undefined when nothing is. */
  problemOf(pool: string): string | undefined {
    return this.#feed.problemOf(pool);
  }

  /** Everything in the cache that lists the address, in whose name. */
  observedOwners(mac: Mac): CachedOwner[] {
    const text = formatMac(mac);
    const [machines, instances] = [this.machines.byIndex(BY_MAC, text), this.instances.byIndex(BY_MAC, text)];
    const pods = this.pods.byIndex(BY_MAC, text);
    if (machines.length + instances.length + pods.length === 0) return [];
    const found = [
      ...machines.map((object) => ({ object, listed: machineMacs(object) })),
      ...instances.map((object) => ({ object, listed: instanceMacs(object) })),
      ...pods.map((object) => ({ object, listed: podMacs(object, this.#findInstance, mac) })),
    ];
    return found.flatMap(({ object, listed }) =>
      listed.filter((entry) => entry.mac === mac).map(({ owner }) => this.seenIn(object, owner)),
    );
  }

  /** Whether any object in the cache lists the address, in whoever's name. */
  isListed(mac: Mac): boolean {
    const text = formatMac(mac);
    return [this.machines, this.instances, this.pods].some((kind) => kind.byIndex(BY_MAC, text).length > 0);
  }

  /** Whether a pod of the owner's name has the address by what multus says, asked for or not. */
  isAttached(mac: Mac, owner: ObjectReference): boolean {
    return isAttached(this.pods, mac, owner);
  }

  /** Every address that an object in the cache lists for its own, and may have a claim for. */
  *listed(): Generator<{ readonly mac: Mac; readonly owner: CachedOwner }> {
    const kinds = [
      { informer: this.machines, macsOf: machineMacs },
      { informer: this.instances, macsOf: instanceMacs },
      { informer: this.pods, macsOf: (pod: KubeObject) => podMacs(pod, this.#findInstance) },
    ] as const;
    for (const { informer, macsOf } of kinds) {
      for (const object of informer.list()) {
        for (const { mac, owner } of macsOf(object)) {
          const cached = this.seenIn(object, owner);
          if (owner.countsAsOwner && (owner.kind !== "Pod" || cached.managed)) yield { mac, owner: cached };
        }
      }
    }
  }

  /** What keeps an address from the pool's choice. What only lists it keeps it from nobody who asks, and is the last choice. */
  readonly objectsListing = (mac: Mac): readonly ObservedOwner[] =>
    distinctPlaces(
      this.observedOwners(mac).map((owner) =>
        hasSay(mac, owner, this.ownersOf(mac), this) ? owner : { ...owner, countsAsOwner: false, onlyLists: true },
      ),
    );

  /** What claims are kept for, and made whatever the limits. */
  claimants(mac: Mac): CachedOwner[] {
    return this.observedOwners(mac).filter((owner) => hasSay(mac, owner, this.ownersOf(mac), this));
  }

  /** What runs with the address now, and where it has it from: VMIs and pods, managed or not. */
  running(mac: Mac): RunningAt[] {
    const text = formatMac(mac);
    const owners = this.ownersOf(mac);
    return [
      ...this.instances
        .byIndex(BY_RUNNING, text)
        .flatMap((vmi) => instanceWith(mac, vmi, this.#isManaged("VirtualMachineInstance", vmi), owners) ?? []),
      ...this.pods
        .byIndex(BY_RUNNING, text)
        .flatMap((pod) => podWith(mac, pod, this.#isManaged("Pod", pod), owners) ?? []),
    ];
  }

  /** The launchers of a VMI, finished ones too. */
  podsOfInstance(instance: KubeObject): readonly KubeObject[] {
    return this.pods.byIndex(BY_INSTANCE, instance.metadata.uid ?? "");
  }

  /** Policy of the pool that serves a namespace; undefined where none does. */
  readonly policyIn = (namespace: string): ConflictPolicy | undefined =>
    poolOf(namespace, this)?.settings.conflictPolicy;

  /** Owners of the address by its claim, as far as the cache knows. */
  readonly ownersOf = (mac: Mac): readonly ClaimOwner[] => this.claims.get(claimName(mac))?.status?.owners ?? NOBODY;

  /** Addresses that the VM lists; undefined while the cache does not have it. */
  readonly macsOfMachine = ({ namespace, name, uid }: ObjectReference): readonly AttachedMac[] | undefined => {
    const machine = this.machines.get(`${namespace}/${name}`);
    return machine?.metadata.uid === uid ? machine && attachedMacs(machine) : undefined;
  };

  /** Whether the pool manages the pod that an owner stands for. Any other owner counts, whatever its namespace says. */
  readonly isManagedOwner = ({ kind, namespace, name }: ObjectReference): boolean =>
    kind !== "Pod" || this.#isManaged(kind, this.pods.get(`${namespace}/${name}`) ?? { metadata: { namespace } });

  /** `labels`: of its namespace, where they are better known than by the cache. */
  isManagedPod(pod: KubeObject, labels?: Readonly<Record<string, string>>): boolean {
    return this.#isManaged("Pod", pod, labels);
  }

  /** What an object says of an owner, and whether the pool manages it. */
  seenIn(object: KubeObject, owner: ObservedOwner): CachedOwner {
    return { ...owner, managed: this.#isManaged(owner.kind, object) };
  }

  #scopeIn(namespace: string): ConflictScope {
    const labels = this.namespaces.get(namespace) && this.labelsOf(namespace);
    return (labels && this.index.poolFor(labels)?.settings.conflictScope) ?? "Cluster";
  }

  /** Whether the object that an owner was is in the cache. */
  readonly has = ({ kind, namespace, name, uid }: ObjectReference): boolean => {
    const informer = { VirtualMachine: this.machines, VirtualMachineInstance: this.instances, Pod: this.pods }[kind];
    return uid !== undefined && informer.get(`${namespace}/${name}`)?.metadata.uid === uid;
  };

  /** Claims of addresses that the object got by an update, stored or not. */
  updatedFor(uid: string): readonly MACClaim[] {
    return this.claims.byIndex(BY_UPDATED, uid);
  }

  /** The object that an owner of the claim stands for, with its name and UID, where one lists the address. */
  seenAs(owner: ObjectReference, { metadata: { name = "" } }: MACClaim): ObjectReference {
    const mac = macOfClaimName(name);
    return (mac === undefined ? [] : this.observedOwners(mac)).find((seen) => mayBe(owner, seen)) ?? owner;
  }

  /** The phase that readers are told. */
  phaseOf(claim: MACClaim): ShownPhase {
    if (statusOf(claim).phase === "Quarantined") return "Quarantined";
    const mac = macOfClaimName(claim.metadata.name ?? "");
    return mac !== undefined && this.index.pending.has(mac) ? "Pending" : "Bound";
  }

  /** Whether what the claim was made for may still be stored. A claim that is newer than the cache was made a moment ago. */
  readonly isAwaited = (claim: MACClaim): boolean => {
    const { name = "" } = claim.metadata;
    const [mac, cached] = [macOfClaimName(name), this.claims.get(name)];
    if (mac === undefined || cached === undefined || isOlder(cached.metadata, claim.metadata)) return true;
    const admission = this.admissions.of(mac);
    return admission !== undefined && !this.admissions.hasCome(admission);
  };

  readonly labelsOf = (namespace: string): Readonly<Record<string, string>> => this.#knownLabelsOf(namespace) ?? {};

  /** Undefined while the cache does not have the namespace. */
  #knownLabelsOf(namespace: string): Readonly<Record<string, string>> | undefined {
    const known = this.namespaces.get(namespace);
    return known && (known.metadata.labels ?? {});
  }

  readonly #findInstance: FindInstance = ({ namespace, name, uid }) => {
    const instance = this.instances.get(`${namespace}/${name}`);
    return instance?.metadata.uid === uid ? instance : undefined;
  };

  #isManaged(
    kind: OwnerKind,
    object: KubeObject,
    labels = this.#knownLabelsOf(object.metadata.namespace ?? ""),
  ): boolean {
    const { namespace = "" } = object.metadata;
    const owner = machineOf(object);
    const machine = owner && this.machines.get(`${namespace}/${owner.name}`);
    const own = machine?.metadata.uid === owner?.uid ? machine : undefined;
    const mayOptOut = (): boolean => labels !== undefined && this.index.mayOptOut(labels);
    return isManaged(kind, object, labels, this.excludedNamespaces, mayOptOut, own);
  }

  #all(): Informer<KubeObject>[] {
    const { claims, pools, machines, instances, pods, namespaces, nodeMacs } = this;
    return [claims, pools, machines, instances, pods, namespaces, nodeMacs] as unknown as Informer<KubeObject>[];
  }
}

const NOBODY: readonly ClaimOwner[] = [];
