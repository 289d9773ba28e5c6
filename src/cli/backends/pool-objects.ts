import { addressesIn, type HostInterface, STATION_FRESH_MS, stationsIn } from "../../api/host-interfaces.ts";
import { MAC_CLAIMS, MAC_POOLS, NODE_MACS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "../../api/kinds.ts";
import { claimName, formatMac, type Mac, parseMac } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../api/mac-claim.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import { LAUNCHER_SELECTOR } from "../../api/names.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { isStartingPhase } from "../../api/phase.ts";
import { type Seat, seatOfInstance, seatOfPod } from "../../api/seen-elsewhere.ts";
import { ConnectionError, isForbidden, isGone, isNotFound } from "../../kube/client/api-error.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { instanceOf, isLauncher, machineOf } from "../../mac-pool/objects/listed-macs.ts";
import { launchersOf } from "./launcher.ts";
import type { OwnerRef } from "./pool-backend.ts";

const CLAIMS: Resource<MACClaim> = MAC_CLAIMS;
const POOLS: Resource<MACPool> = MAC_POOLS;
const NODE_REPORTS = NODE_MACS as Resource<NodeMACs>;
const INSTANCES: Resource<Instance> = VIRTUAL_MACHINE_INSTANCES;

const OWNERS: Readonly<Record<OwnerRef["kind"], Resource>> = {
  VirtualMachine: VIRTUAL_MACHINES,
  VirtualMachineInstance: INSTANCES,
  Pod: RESOURCES.pods,
};

type Instance = KubeObject & {
  readonly status?: {
    readonly nodeName?: string;
    readonly phase?: string;
    readonly migrationState?: { readonly endTimestamp?: string };
  };
};

export interface Place {
  readonly node: string;
  readonly pod: string;
  readonly notRunningYet?: true;
}

export type ClaimChange =
  | { readonly list: readonly MACClaim[] }
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly claim: MACClaim };

/** Addresses without a claim that a pool does not give out. */
export interface KeptBack {
  /** Of the nodes' own interfaces. */
  readonly own: ReadonlySet<Mac>;
  readonly stations: ReadonlyMap<Mac, HostInterface>;
}

/** The objects that say who has which address. */
export class PoolObjects {
  readonly #client: KubeClient;
  readonly #options: { readonly managedFields: false; readonly timeoutMs: number };
  readonly #now: () => number;
  readonly #onRead: () => void;
  #reports: Promise<readonly NodeMACs[] | undefined> | undefined;

  /** `timeoutMs`: of each answer. `now`: the wall clock. `onRead` is called after each read of claims and pools that the user may do. */
  constructor(client: KubeClient, timeoutMs: number, now: () => number, onRead: () => void) {
    this.#client = client;
    this.#now = now;
    this.#options = { managedFields: false, timeoutMs };
    this.#onRead = onRead;
  }

  /** Sorted by address. */
  async claims(): Promise<MACClaim[]> {
    const { items } = await this.#client.list(CLAIMS, this.#options);
    this.#onRead();
    return items.sort((a, b) => (a.spec.mac < b.spec.mac ? -1 : 1));
  }

  async claim(mac: Mac): Promise<MACClaim | undefined> {
    const claim = await this.#client.get(CLAIMS, { name: claimName(mac) }, this.#options).catch((error: unknown) => {
      // A 404 without details means that the API server does not serve the kind.
      if (!isNotFound(error) || error.details === undefined) throw error;
    });
    this.#onRead();
    return claim ?? undefined;
  }

  async pools(): Promise<MACPool[]> {
    const { items } = await this.#client.list(POOLS, this.#options);
    this.#onRead();
    return items.sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  }

  /** Empty where the user may not read them. */
  async readablePools(): Promise<MACPool[]> {
    return (await readable(this.pools())) ?? [];
  }

  /** What nodes report, read once; undefined when the user may not see it. */
  reports(): Promise<readonly NodeMACs[] | undefined> {
    this.#reports ??= readable(this.#client.list(NODE_REPORTS, this.#options)).then((list) => list?.items);
    return this.#reports;
  }

  /** The interfaces of nodes by their addresses; undefined when the user may not see them. */
  async hosts(): Promise<ReadonlyMap<Mac, readonly HostInterface[]> | undefined> {
    const reports = await this.reports();
    if (reports === undefined) return undefined;
    const found = new Map<Mac, HostInterface[]>();
    for (const report of reports) {
      const { name: node = "" } = report.metadata;
      for (const [mac, name] of addressesIn(report)) {
        const others = found.get(mac) ?? [];
        found.set(mac, [...others, { node, interface: name }]);
      }
    }
    return found;
  }

  /** Stations outside the cluster by their addresses, as nodes report them; undefined when the user may not see them. */
  async stations(claims: readonly MACClaim[]): Promise<ReadonlyMap<Mac, HostInterface> | undefined> {
    const reports = await this.reports();
    if (reports === undefined) return undefined;
    const [held, nowMs] = [new Set(claims.map(({ spec }) => spec.mac)), this.#now()];
    const fresh = reports.flatMap(stationsIn).filter(({ mac, seenMs }) => {
      return nowMs - seenMs <= STATION_FRESH_MS && !held.has(formatMac(mac));
    });
    return new Map(fresh.map(({ mac, host }) => [mac, host]));
  }

  /** What has addresses that none of the claims has; undefined when the user may not see it. */
  async keptBack(claims: readonly MACClaim[]): Promise<KeptBack | undefined> {
    const [hosts, stations] = await Promise.all([this.hosts(), this.stations(claims)]);
    if (hosts === undefined || stations === undefined) return undefined;
    const own = new Set(hosts.keys());
    for (const { spec } of claims) own.delete(parseMac(spec.mac) as Mac);
    return { own, stations: new Map([...stations].filter(([mac]) => !hosts.has(mac))) };
  }

  /** Whether the object exists; null when the user may not see it. */
  async exists({ kind, namespace, name }: OwnerRef): Promise<boolean | null> {
    const object = await readable(this.#client.get(OWNERS[kind], { name, namespace }, this.#options));
    return object === null ? null : object !== undefined;
  }

  /**
   * Whose addresses a VMI or a launcher pod has: those of its VM, or of its VMI where no VM made that. Believed only where that
   * object has the UID that is named. Undefined where they are its own, null where the user may not see it.
   */
  async holder({ kind, namespace, name }: OwnerRef): Promise<OwnerRef | null | undefined> {
    if (kind === "VirtualMachine") return undefined;
    const pod = kind === "Pod" ? await this.#get(RESOURCES.pods, namespace, name) : undefined;
    const owner = pod && isLauncher(pod) ? instanceOf(pod) : undefined;
    if (kind === "Pod" && owner === undefined) return pod === null ? null : undefined;
    const instance = await this.#get(INSTANCES, namespace, owner?.name ?? name);
    if (!instance || (owner !== undefined && instance.metadata.uid !== owner.uid)) return instance && undefined;
    const machine = machineOf(instance);
    if (machine === undefined) {
      return owner && { kind: "VirtualMachineInstance", namespace, name: owner.name };
    }
    const found = await this.#get(VIRTUAL_MACHINES, namespace, machine.name);
    if (found === null) return null;
    return found?.metadata.uid === machine.uid ? { kind: "VirtualMachine", namespace, name: machine.name } : undefined;
  }

  #get<T extends KubeObject>(resource: Resource<T>, namespace: string, name: string): Promise<T | null | undefined> {
    return readable(this.#client.get(resource, { name, namespace }, this.#options));
  }

  /** The claims, and then their changes. Another `list` follows when the watch ends. */
  async *changes(signal: AbortSignal): AsyncGenerator<ClaimChange> {
    while (!signal.aborted) {
      const { items, resourceVersion } = await this.#client.list(CLAIMS, { managedFields: false, signal });
      this.#onRead();
      yield { list: items };
      yield* this.#watch(resourceVersion, signal);
    }
  }

  /** Ends when the server ends it, the connection breaks, or the server has no history from `resourceVersion` on. */
  async *#watch(resourceVersion: string, signal: AbortSignal): AsyncGenerator<ClaimChange> {
    const options = { resourceVersion, managedFields: false, allowBookmarks: true, signal };
    try {
      for await (const { type, object: claim } of this.#client.watch(CLAIMS, options)) {
        if (type !== "BOOKMARK" && type !== "ERROR") yield { type, claim };
      }
    } catch (error) {
      if (!signal.aborted && !isGone(error) && !(error instanceof ConnectionError)) throw error;
    }
  }

  /** Where an owner runs since when; undefined also where the user may not see it. */
  async seat({ kind, namespace, name }: Pick<ClaimOwner, "kind" | "namespace" | "name">): Promise<Seat | undefined> {
    if (name === undefined) return undefined;
    const key = { name, namespace };
    if (kind === "Pod") {
      return seatOfPod((await readable(this.#client.get(RESOURCES.pods, key, this.#options))) ?? undefined);
    }
    return seatOfInstance((await readable(this.#client.get(INSTANCES, key, this.#options))) ?? undefined);
  }

  /** Where an owner runs; undefined when it does not run, null when the user may not see it. */
  async place(owner: Pick<ClaimOwner, "kind" | "namespace" | "name">): Promise<Place | null | undefined> {
    const { kind, namespace, name } = owner;
    if (name === undefined) return undefined;
    if (kind === "Pod") {
      const pod = await readable(this.#client.get(RESOURCES.pods, { name, namespace }, this.#options));
      return placeOf(pod, pod?.status?.phase);
    }
    const instance = await readable(this.#client.get(INSTANCES, { name, namespace }, this.#options));
    if (!instance) return instance;
    const pods = await readable(
      this.#client.list(RESOURCES.pods, { namespace, labelSelector: LAUNCHER_SELECTOR, ...this.#options }),
    );
    if (!pods) return null;
    const [launcher] = launchersOf(instance, pods.items);
    const node = instance.status?.nodeName;
    const isThere = node === undefined || launcher?.spec?.nodeName === node;
    return isThere ? placeOf(launcher, instance.status?.phase) : undefined;
  }
}

/** `phase`: of the owner. */
function placeOf(pod: Pod | null | undefined, phase: string | undefined): Place | null | undefined {
  if (!pod) return pod;
  const node = pod.spec?.nodeName;
  if (node === undefined) return undefined;
  const place = { node, pod: pod.metadata.name ?? "" };
  return isStartingPhase(phase) ? { ...place, notRunningYet: true } : place;
}

/** Undefined for what is not there, null for what the user may not read. */
async function readable<T>(read: Promise<T>): Promise<T | null | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isForbidden(error)) return null;
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
