import type { Registry } from "prom-client";
import { formatMac, type Mac, macOfClaimName } from "../api/mac.ts";
import type { MACClaim, OwnerKind } from "../api/mac-claim.ts";
import type { MACPool } from "../api/mac-pool.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject, Resource } from "../kube/client/resource.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { Informer, type InformerOptions } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import { CLAIM_SHARDS, factsOf } from "./core/claim.ts";
import type { RunningParty } from "./core/collision.ts";
import type { Sighting } from "./core/party.ts";
import { PoolIndex } from "./core/pool-index.ts";
import { readPool } from "./core/pool-settings.ts";
import { LabelChanges } from "./label-changes.ts";
import { compactClaim } from "./objects/compact-claim.ts";
import {
  type FindInstance,
  instanceMacs,
  type ListedMac,
  machineMacs,
  podMacs,
  WAIT_AS_RECEIVER,
} from "./objects/holders.ts";
import { textAt } from "./objects/json-path.ts";
import { KINDS } from "./objects/kinds.ts";
import { isManaged } from "./objects/management.ts";
import { macsOfRunningInstance, macsOfRunningPod, runningInstance, runningPod } from "./objects/running.ts";
import { SharedValues } from "./objects/shared-values.ts";
import { slimInstance, slimMachine, slimNamespace, slimPod } from "./objects/slim.ts";

/** Index of the informers of VMs, VMIs and pods: the addresses that an object lists, in canonical form. */
const BY_MAC = "mac";
/** Index of the informers of VMIs and pods: the addresses that are on the network now. */
const BY_RUNNING = "running";
/** Index of the pods: UID of the VMI that a launcher belongs to. */
const BY_INSTANCE = "instance";

/** An object in the cache that lists an address. */
export interface CachedSighting extends Sighting {
  readonly managed: boolean;
}

export interface CachesOptions {
  readonly client: KubeClient;
  readonly log: Log;
  readonly metrics?: Registry;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Namespaces whose objects are never managed. */
  readonly excludedNamespaces: readonly string[];
}

/**
 * One replica's view of the cluster: informers, and the pool index that they feed. Every replica has one, leader or not;
 * kinds that the cluster does not have (yet) are empty.
 */
export class Caches {
  readonly index = new PoolIndex();
  readonly claims: Informer<MACClaim>;
  readonly pools: Informer<MACPool>;
  readonly machines: Informer<KubeObject>;
  readonly instances: Informer<KubeObject>;
  readonly pods: Informer<KubeObject>;
  readonly namespaces: Informer<KubeObject>;
  readonly #excludedNamespaces: readonly string[];
  readonly #labelChanges: LabelChanges;
  readonly #problems = new Map<string, string>();

  constructor(options: CachesOptions) {
    this.#excludedNamespaces = options.excludedNamespaces;
    const { excludedNamespaces: _excluded, ...parts } = options;
    const informer = <T extends KubeObject>(resource: Resource<T>, more: Partial<InformerOptions<T>>): Informer<T> =>
      new Informer({ ...parts, resource, ...more });
    const byMac = (macsOf: (object: KubeObject) => ListedMac[]) => ({
      [BY_MAC]: (object: KubeObject) => [...new Set(macsOf(object).map(({ mac }) => formatMac(mac)))],
    });
    const shared = new SharedValues();
    this.claims = informer(KINDS.claims, { shards: CLAIM_SHARDS, transform: (claim) => compactClaim(claim, shared) });
    this.pools = informer(KINDS.pools, {});
    this.machines = informer(KINDS.virtualMachines, {
      absentIsEmpty: true,
      transform: (machine) => slimMachine(machine, shared),
      indexers: byMac(machineMacs),
    });
    this.instances = informer(KINDS.instances, {
      absentIsEmpty: true,
      transform: (instance) => slimInstance(instance, shared),
      indexers: { ...byMac(instanceMacs), [BY_RUNNING]: macsOfRunningInstance },
    });
    this.pods = informer(KINDS.pods, {
      transform: slimPod,
      indexers: {
        ...byMac((pod) => podMacs(pod)),
        [BY_RUNNING]: macsOfRunningPod,
        [BY_INSTANCE]: ({ metadata: { ownerReferences = [] } }) =>
          ownerReferences.filter(({ kind }) => kind === "VirtualMachineInstance").map(({ uid }) => uid),
      },
    });
    this.namespaces = informer(KINDS.namespaces, { transform: slimNamespace });
    this.#labelChanges = new LabelChanges(this.namespaces, options.clock ?? systemClock);
    this.#feedIndex();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.run(signal)));
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.whenSynced(signal)));
  }

  get hasSynced(): boolean {
    return this.#all().every((informer) => informer.hasSynced);
  }

  /** What is wrong with a pool's spec; undefined when nothing is. */
  problemOf(pool: string): string | undefined {
    return this.#problems.get(pool);
  }

  /** Everything in the cache that lists the address, in whose name. */
  sightings(mac: Mac): CachedSighting[] {
    const text = formatMac(mac);
    const found = [
      ...this.machines.byIndex(BY_MAC, text).map((object) => ({ object, listed: machineMacs(object) })),
      ...this.instances.byIndex(BY_MAC, text).map((object) => ({ object, listed: instanceMacs(object) })),
      ...this.pods.byIndex(BY_MAC, text).map((object) => ({ object, listed: podMacs(object, this.#findInstance) })),
    ];
    return found.flatMap(({ object, listed }) =>
      listed
        .filter((entry) => entry.mac === mac)
        .map(({ holder }) => ({
          ...holder,
          managed: this.#isManaged(holder.kind, object),
          confirms: holder.confirms && this.wasAdmitted(holder.kind, object),
        })),
    );
  }

  /**
   * Whether the object came into being through the webhook, as far as its labels and those of its namespace tell: they
   * have been what they are for longer than a creation can be under way.
   */
  readonly wasAdmitted = (kind: OwnerKind, object: KubeObject): boolean =>
    this.#labelChanges.areOlderThan(this.index.pendingMs, object.metadata.namespace ?? "") &&
    this.#isManaged(kind, object);

  /** Managed objects that run with the address now. */
  running(mac: Mac): RunningParty[] {
    const text = formatMac(mac);
    const managed =
      (kind: OwnerKind) =>
      (object: KubeObject): boolean =>
        this.#isManaged(kind, object);
    return [
      ...this.instances.byIndex(BY_RUNNING, text).filter(managed("VirtualMachineInstance")).map(runningInstance),
      ...this.pods.byIndex(BY_RUNNING, text).filter(managed("Pod")).map(runningPod),
    ];
  }

  /** The launchers of a VMI, finished ones too. */
  podsOfInstance(instance: KubeObject): readonly KubeObject[] {
    return this.pods.byIndex(BY_INSTANCE, instance.metadata.uid ?? "");
  }

  /** A VM that waits to receive another one by live migration. */
  isReceiver(namespace: string, name: string): boolean {
    return textAt(this.machines.get(`${namespace}/${name}`), "spec", "runStrategy") === WAIT_AS_RECEIVER;
  }

  labelsOf(namespace: string): Readonly<Record<string, string>> {
    return this.namespaces.get(namespace)?.metadata.labels ?? {};
  }

  readonly #findInstance: FindInstance = ({ namespace, name, uid }) => {
    const instance = this.instances.get(`${namespace}/${name}`);
    return instance?.metadata.uid === uid ? instance : undefined;
  };

  #isManaged(kind: OwnerKind, object: KubeObject): boolean {
    const { namespace = "", ownerReferences } = object.metadata;
    const owner = ownerReferences?.find((reference) => reference.kind === "VirtualMachine");
    const machine = owner && this.machines.get(`${namespace}/${owner.name}`);
    const own = machine?.metadata.uid === owner?.uid ? machine : undefined;
    const known = this.namespaces.get(namespace);
    return isManaged(kind, object, known && (known.metadata.labels ?? {}), this.#excludedNamespaces, own);
  }

  #feedIndex(): void {
    const { index } = this;
    const setClaim = (claim: MACClaim): void => {
      const mac = macOfClaimName(claim.metadata.name ?? "");
      if (mac !== undefined) index.setClaim(mac, factsOf(claim));
    };
    this.claims.on({
      add: setClaim,
      update: setClaim,
      delete: (claim) => {
        const mac = macOfClaimName(claim.metadata.name ?? "");
        if (mac !== undefined) index.deleteClaim(mac);
      },
    });
    const setPool = (pool: MACPool): void => this.#setPool(pool);
    this.pools.on({
      add: setPool,
      update: setPool,
      delete: (pool) => {
        index.deletePool(pool.metadata.name ?? "");
        this.#problems.delete(pool.metadata.name ?? "");
      },
    });
  }

  /** Counting a pool anew costs time with many claims, and most updates of a pool are those of its status. */
  #setPool(pool: MACPool): void {
    const name = pool.metadata.name ?? "";
    const known = this.index.pool(name);
    const { settings, problem } = readPool(pool, known?.settings.segments);
    if (problem === undefined) this.#problems.delete(name);
    else this.#problems.set(name, problem);
    if (known?.settings.segments.equals(settings.segments)) known.changePolicy(settings);
    else this.index.setPool(settings);
  }

  #all(): Informer<KubeObject>[] {
    const { claims, pools, machines, instances, pods, namespaces } = this;
    return [claims, pools, machines, instances, pods, namespaces] as unknown as Informer<KubeObject>[];
  }
}
