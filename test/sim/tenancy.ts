import { formatMac, POD_BRIDGE_MAC, parseMac } from "../../src/api/mac.ts";
import type { ConflictPolicy, LabelSelector, MACPool, MacPoolSpec } from "../../src/api/mac-pool.ts";
import { POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import type { ObjectStore } from "../support/object-store.ts";
import { NETWORKS } from "./layer2.ts";
import type { HolderKind } from "./objects.ts";
import type { Plan } from "./plan.ts";

/** Namespaces whose objects the pool manages at first, and one whose objects it only observes. */
export const MANAGED = ["red", "blue"] as const;
export const UNMANAGED = "wild";
const NAMESPACES = [...MANAGED, UNMANAGED];

/** Label that the selectors of all pools but `default` are about. */
const TENANT = "tenant";

/** Just behind the one that KubeVirt reserves. A range from number 0 on holds that one too, and no pool may give it out. */
const FIRST_MAC = POD_BRIDGE_MAC + 1;

/** Addresses beyond those of the pool `default` that objects ask for and other pools have. */
const MORE_ADDRESSES = 16;

/** Addresses of a pool by number: `size` from the first on, without one in the middle where it is excluded. */
export interface Shape {
  readonly first: number;
  readonly size: number;
  readonly hole?: number | undefined;
}

/** The pools of the simulated cluster and the labels of its namespaces: who is managed, and served by which pool. */
export class Tenancy {
  readonly #etcd: ObjectStore;
  readonly #plan: Plan;
  /** Namespace -> the names of all pools that have ever served it. */
  readonly #servers = new Map<string, Set<string>>();
  /** Pool -> every address that it has ever had. */
  readonly #had = new Map<string, Set<string>>();
  /** Pool -> every address that it has lacked at some time. */
  readonly #lacked = new Map<string, Set<string>>();
  /** Namespaces whose pods have been managed at some time. */
  readonly #withPods = new Set<string>();
  /** Kinds, and namespaces where they have not been managed at some time. */
  readonly #unmanaged = new Set<string>();
  /** Addresses that some pool has had at every moment. */
  #alwaysInRange: ReadonlySet<string>;
  /** Every address that anybody asks for, by number. */
  readonly #macs: readonly string[];

  constructor(etcd: ObjectStore, plan: Plan) {
    this.#etcd = etcd;
    this.#plan = plan;
    this.#macs = Array.from({ length: plan.poolSize * 2 + MORE_ADDRESSES }, (_, number) => macText(FIRST_MAC + number));
    this.#alwaysInRange = new Set(this.#macs);
    for (const name of NAMESPACES) {
      const mode = name === UNMANAGED ? "ignore" : "allocate";
      if (mode === "allocate") this.#withPods.add(name);
      else for (const kind of ["VirtualMachine", "Pod"]) this.#unmanaged.add(`${kind} ${name}`);
      const labels = { [VM_WEBHOOK]: mode, [POD_WEBHOOK]: mode, ...(name === plan.tenant && { [TENANT]: "yes" }) };
      etcd.create(KINDS.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    }
    if (plan.perNetwork.length > 0) this.#createNetworks();
    this.restore();
  }

  #createNetworks(): void {
    for (const [name, network] of Object.entries(NETWORKS)) {
      const spec = { config: JSON.stringify({ type: "bridge", ...network }) };
      for (const namespace of NAMESPACES) this.#etcd.create(KINDS.networks, { metadata: { name, namespace }, spec });
    }
  }

  get addressCount(): number {
    return this.#macs.length;
  }

  /** The n-th address of the cluster; pools start near the first. */
  mac(number: number): string {
    const mac = this.#macs[number];
    if (mac === undefined) throw new Error(`the cluster has no address number ${number}`);
    return mac;
  }

  /** Makes the pools that the plan has and the cluster has not. */
  restore(): void {
    for (const [name, { shape, policy }] of Object.entries(this.#plan.pools)) {
      if (this.#pool(name) === undefined) this.#write(name, shape, policy);
    }
    this.#noteServed();
  }

  setPool(name: string, shape: Shape, conflictPolicy?: ConflictPolicy): void {
    this.#write(name, shape, conflictPolicy);
    this.#noteServed();
  }

  #write(name: string, shape: Shape, conflictPolicy: ConflictPolicy | undefined): void {
    const { first, size, hole } = shape;
    const start = first === 0 ? formatMac(POD_BRIDGE_MAC) : this.mac(first);
    const range = { start, end: this.mac(first + size - 1) };
    const excluded = hole === undefined ? [] : [{ start: this.mac(first + hole), end: this.mac(first + hole) }];
    const old = this.#pool(name);
    const selector: LabelSelector = { matchLabels: { [TENANT]: "yes" } };
    const spec: MacPoolSpec = {
      ...(name === "default" ? {} : { namespaceSelector: selector }),
      quarantineSeconds: this.#plan.quarantineSeconds,
      conflictPolicy: this.#plan.pools[name]?.policy ?? "Deny",
      ...(this.#plan.perNetwork.includes(name) && { conflictScope: "Network" }),
      hostAddressPolicy: this.#plan.hostAddressPolicy,
      explicitAddresses: this.#plan.explicitAddresses,
      objectOptOut: this.#plan.mayOptOut ? "Allow" : "Claim",
      ...old?.spec,
      ...(conflictPolicy === undefined ? {} : { conflictPolicy }),
      ranges: [range],
      exclusions: excluded,
    };
    const apiVersion = "macpool.network.kubevirt.io/v1alpha1";
    if (old === undefined) this.#etcd.create(KINDS.pools, { apiVersion, kind: "MACPool", metadata: { name }, spec });
    else this.#etcd.update(KINDS.pools, { ...old, spec });
  }

  /** Whether there was one. */
  removePool(name: string): boolean {
    if (this.#pool(name) === undefined) return false;
    this.#etcd.remove(KINDS.pools, { name });
    this.#noteServed();
    return true;
  }

  /** Opts the VMs or the pods of a namespace in or out. */
  flipMode(namespace: string, kind: "VirtualMachine" | "Pod"): void {
    const label = kind === "Pod" ? POD_WEBHOOK : VM_WEBHOOK;
    if (kind === "Pod") this.#withPods.add(namespace);
    this.#unmanaged.add(`${kind} ${namespace}`);
    this.#relabel(namespace, label, this.#labels(namespace)[label] === "ignore" ? "allocate" : "ignore");
  }

  hasManagedPods(namespace: string): boolean {
    return this.#withPods.has(namespace);
  }

  /** Moves a namespace under the pools with a selector, or back under `default`. */
  flipTenant(namespace: string): void {
    this.#relabel(namespace, TENANT, this.#labels(namespace)[TENANT] === "yes" ? "no" : "yes");
    this.#noteServed();
  }

  manages(kind: HolderKind, namespace: string): boolean {
    return this.#labels(namespace)[kind === "Pod" ? POD_WEBHOOK : VM_WEBHOOK] !== "ignore";
  }

  /**
   * Whether a pool that serves or served the namespace has or had the address. Not both at one time: a replica may know
   * the new labels of a namespace and the old ranges of a pool.
   */
  hasServed(namespace: string, mac: string): boolean {
    return [...(this.#servers.get(namespace) ?? [])].some((pool) => this.#had.get(pool)?.has(mac));
  }

  /** Whether the pool of the namespace lets its objects have the address. */
  mayHave(namespace: string, mac: string): boolean {
    const pool = this.#poolOf(namespace);
    return (
      this.#plan.explicitAddresses === "Anywhere" || pool === undefined || isIn(pool, mac) || !this.isInAnyPool(mac)
    );
  }

  /**
   * Whether an object of the namespace may have listed the address at some time without having a say about it, by the labels and
   * pools of any time: a replica knows them one by one.
   */
  mayOnlyList(kind: HolderKind, namespace: string, mac: string): boolean {
    if (this.#unmanaged.has(`${kind === "Pod" ? "Pod" : "VirtualMachine"} ${namespace}`)) return true;
    if (this.#plan.explicitAddresses === "Anywhere") return false;
    const lacks = (pool: string): boolean => this.#lacked.get(pool)?.has(mac) ?? false;
    const isInRange = [...this.#had.values()].some((macs) => macs.has(mac));
    return isInRange && [...(this.#servers.get(namespace) ?? [])].some(lacks);
  }

  /** Whether objects of the namespace are in conflict on networks only that can meet. */
  isPerNetwork(namespace: string): boolean {
    return this.#poolOf(namespace)?.spec.conflictScope === "Network";
  }

  policyIn(namespace: string): ConflictPolicy | undefined {
    return this.#poolOf(namespace)?.spec.conflictPolicy;
  }

  pools(): MACPool[] {
    return this.#etcd.list(KINDS.pools.plural) as unknown as MACPool[];
  }

  isInAnyPool(mac: string): boolean {
    return this.pools().some((pool) => isIn(pool, mac));
  }

  wasAlwaysInRange(mac: string): boolean {
    return this.#alwaysInRange.has(mac);
  }

  #noteServed(): void {
    this.#alwaysInRange = new Set([...this.#alwaysInRange].filter((mac) => this.isInAnyPool(mac)));
    for (const pool of this.pools()) {
      const { name = "" } = pool.metadata;
      for (const mac of this.#macs) entry(isIn(pool, mac) ? this.#had : this.#lacked, name).add(mac);
    }
    for (const namespace of NAMESPACES) {
      const name = this.#poolOf(namespace)?.metadata.name;
      if (name !== undefined) entry(this.#servers, namespace).add(name);
    }
  }

  #poolOf(namespace: string): MACPool | undefined {
    const isTenant = this.#labels(namespace)[TENANT] === "yes";
    const [oldest] = this.pools()
      .filter(({ spec }) => isTenant && spec.namespaceSelector !== undefined)
      .sort((a, b) => age(a).localeCompare(age(b)));
    return oldest ?? this.#pool("default");
  }

  #pool(name: string): MACPool | undefined {
    return this.#etcd.get(KINDS.pools.plural, name) as unknown as MACPool | undefined;
  }

  #labels(namespace: string): Readonly<Record<string, string>> {
    return this.#etcd.get(KINDS.namespaces.plural, namespace)?.metadata.labels ?? {};
  }

  #relabel(namespace: string, label: string, value: string): void {
    const old = this.#etcd.get(KINDS.namespaces.plural, namespace);
    if (old === undefined) return;
    const labels = { ...old.metadata.labels, [label]: value };
    this.#etcd.update(KINDS.namespaces, { ...old, metadata: { ...old.metadata, labels } });
  }
}

/** Sorts by age, and by name where that is the same. */
const age = ({ metadata: { creationTimestamp = "", name = "" } }: MACPool): string => `${creationTimestamp} ${name}`;

/** Addresses are written in one way, so their order as text is their order. */
export function isIn({ spec }: MACPool, mac: string): boolean {
  const within = ({ start, end }: { start: string; end: string }): boolean => mac >= start && mac <= end;
  return spec.ranges.some(within) && !(spec.exclusions ?? []).some(within);
}

function entry(sets: Map<string, Set<string>>, key: string): Set<string> {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set);
  return set;
}

function macText(number: number): string {
  const mac = parseMac(number.toString(16).padStart(12, "0"));
  if (mac === undefined) throw new Error(`no address: ${number}`);
  return formatMac(mac);
}
