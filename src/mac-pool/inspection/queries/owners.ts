import { formatMac, type Mac, parseMac } from "../../../api/mac.ts";
import { type ClaimOwner, isNamesake, type MACClaim, type OwnerKind, originFor } from "../../../api/mac-claim.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import type { Clock } from "../../../kube/clock.ts";
import { statusOf } from "../../claims/claim.ts";
import type { Caches } from "../../cluster/caches.ts";
import { instanceMacs, instanceOf, isLauncher, machineMacs, machineOf, podMacs } from "../../objects/listed-macs.ts";
import type { DenialView, HistoryEntryView, OwnerHistoryView } from "../rest/views.ts";
import type { Catalog, ClaimChange } from "./catalog.ts";
import type { ClaimQueries } from "./claims.ts";
import type { DenialQueries } from "./denials.ts";
import { hostAddressIn, type Scope } from "./scope.ts";
import { usedNow } from "./used-now.ts";

export interface OwnerRef {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name: string;
}

/** One interface: by the object, by a claim, or by both. */
type Interface = OwnerHistoryView["interfaces"][number];

interface Held {
  readonly claim: MACClaim;
  readonly owner: ClaimOwner;
}

interface HistoryOptions {
  readonly catalog: Catalog;
  readonly claims: ClaimQueries;
  readonly denials: DenialQueries;
  readonly history: History;
}

/** What one VM, VMI or pod has, and what happened to it. Undefined where it has no address, is not there, and was not refused. */
export async function ownerHistory(
  ref: OwnerRef,
  scope: Scope,
  { catalog, claims, denials, history }: HistoryOptions,
): Promise<OwnerHistoryView | undefined> {
  const { kind, namespace, name } = ref;
  const { machines, instances, pods, index } = catalog.caches;
  const informer = { VirtualMachine: machines, VirtualMachineInstance: instances, Pod: pods }[kind];
  const object = informer.get(`${namespace}/${name}`);
  const held = heldBy(ref, catalog);
  const { items, partial = [] } = await denials.merged({ namespace }, scope);
  const events = history.of(ref, object);
  const isKnown = object !== undefined || held.length + events.length > 0;
  // Where nobody knows the VM, a VMI of its name is an object of its own.
  const isUnknownVm = !isKnown && kind === "VirtualMachine";
  const refusals = items.filter((denial) => (denial.kind === kind || !isUnknownVm) && isAbout(denial, ref));
  if (!isKnown && refusals.length === 0) return undefined;
  const instance = kind === "VirtualMachine" ? instances.get(`${namespace}/${name}`) : undefined;
  const entries = [
    ...creation(kind, object),
    ...creation("VirtualMachineInstance", instance),
    ...held.flatMap(allocation),
    // What happened within one millisecond stays in this order.
    ...events.toReversed(),
    ...refusals.map((denial) => refusal(denial, ref)),
  ];
  return {
    ...ref,
    exists: object !== undefined,
    ...claims.placeOf(ref),
    interfaces: interfacesOf(ref, object, held, catalog).map((one) => {
      const mac = parseMac(one.mac) as Mac;
      const domains = heldAt(mac, ref, catalog)?.owner.domains;
      const used = usedNow(mac, { ...ref, ...one.holder, network: one.network, domains }, catalog, scope);
      return { ...one, ...(used && { usedNow: used }), ...hostAddressIn(scope, index.hosts.at(mac)) };
    }),
    history: entries.sort((one, other) => Date.parse(other.at) - Date.parse(one.at)),
    partial: [...partial],
  };
}

/** A VM does not start where its VMI, or the launcher of that, is refused. */
function isAbout(denial: DenialView, { kind, name }: OwnerRef): boolean {
  if (denial.kind === kind) return denial.name === name;
  if (kind === "Pod") return false;
  return denial.kind === "Pod" ? LAUNCHER_OF.exec(denial.name)?.[1] === name : denial.name === name;
}

/** As KubeVirt calls the launchers of a VMI; the API server completes the name after admission. */
const LAUNCHER_OF = /^virt-launcher-(.+)-(?:\*|[a-z0-9]{5})$/;

function creation(kind: OwnerKind, object: KubeObject | undefined): HistoryEntryView[] {
  const at = object?.metadata.creationTimestamp;
  return at === undefined ? [] : [{ at, what: "created", message: `${kind} was created` }];
}

/** Names of the kind's objects that have claims in a namespace. */
export function ownerNames({ kind, namespace }: Omit<OwnerRef, "name">, catalog: Catalog): string[] {
  const names = new Set<string>();
  catalog.claimsIn(namespace).scan(0 as Mac, (claim) => {
    for (const owner of statusOf(claim).owners) {
      if (owner.kind === kind && owner.namespace === namespace && owner.name !== undefined) names.add(owner.name);
    }
    return true;
  });
  return [...names];
}

function heldBy(ref: OwnerRef, catalog: Catalog): Held[] {
  const found: Held[] = [];
  catalog.claimsIn(ref.namespace).scan(0 as Mac, (claim) => {
    const owner = statusOf(claim).owners.findLast((owner) => isNamesake(owner, ref));
    if (owner !== undefined) found.push({ claim, owner });
    return true;
  });
  return found;
}

function interfacesOf(
  { kind }: OwnerRef,
  object: KubeObject | undefined,
  held: readonly Held[],
  catalog: Catalog,
): Interface[] {
  const claimed = held.map(
    ({ claim, owner }): Interface => ({
      interface: owner.interface,
      mac: claim.spec.mac,
      ...claimOf({ claim, owner }, catalog),
      ...(owner.network === undefined ? {} : { network: owner.network }),
    }),
  );
  const known = new Set(claimed.map(({ mac }) => mac));
  const holder = object && holderOf(kind, object, catalog.caches);
  const claimOfHolder = (mac: Mac): Partial<Interface> => {
    if (holder === undefined) return {};
    const held = heldAt(mac, holder, catalog);
    return held === undefined ? {} : { ...claimOf(held, catalog), holder: { kind: holder.kind, name: holder.name } };
  };
  const listed = (object === undefined ? [] : LISTED[kind](object)).map(
    ({ mac, owner }): Interface => ({
      interface: owner.interface,
      mac: formatMac(mac),
      ...claimOfHolder(mac),
      ...(owner.network === undefined ? {} : { network: owner.network }),
    }),
  );
  // A pod that calls itself a launcher lists an address for several owners.
  const once = new Map(listed.map((one) => [`${one.interface} ${one.mac}`, one]));
  const others = [...once.values()].filter(({ mac }) => !known.has(mac));
  return [...claimed, ...others].sort((one, other) => (one.interface < other.interface ? -1 : 1));
}

function claimOf({ claim, owner }: Held, { caches }: Catalog): Omit<Interface, "interface" | "mac"> {
  return {
    claim: claim.metadata.name ?? "",
    phase: caches.phaseOf(claim),
    origin: originFor(claim, owner),
    since: owner.since,
  };
}

function heldAt(mac: Mac, holder: OwnerRef, catalog: Catalog): Held | undefined {
  const claim = catalog.claims.get(mac);
  const owner = claim && statusOf(claim).owners.findLast((one) => isNamesake(one, holder));
  return owner && { claim, owner };
}

/**
 * Whose addresses a VMI or a launcher pod has: those of its VM, or of its VMI where no VM made that. Whoever writes an object can
 * name any owner in it, so it is believed only where that object exists with that UID.
 */
function holderOf(kind: OwnerKind, object: KubeObject, caches: Caches): OwnerRef | undefined {
  if (kind === "VirtualMachine") return undefined;
  const { namespace = "" } = object.metadata;
  const instance = kind === "Pod" ? instanceBehind(object, caches) : object;
  const machine = machineOf(instance);
  if (machine !== undefined) {
    const ref = { kind: "VirtualMachine", namespace, name: machine.name } as const;
    return caches.has({ ...ref, uid: machine.uid }) ? ref : undefined;
  }
  if (kind !== "Pod" || instance === undefined) return undefined;
  return { kind: "VirtualMachineInstance", namespace, name: instance.metadata.name ?? "" };
}

/** Undefined where the pod is no launcher, or its VMI is not there. */
export function instanceBehind(pod: KubeObject, { instances }: Caches): KubeObject | undefined {
  const owner = isLauncher(pod) ? instanceOf(pod) : undefined;
  const instance = owner && instances.get(`${pod.metadata.namespace}/${owner.name}`);
  return instance?.metadata.uid === owner?.uid ? instance : undefined;
}

const LISTED = {
  VirtualMachine: machineMacs,
  VirtualMachineInstance: instanceMacs,
  Pod: (pod: KubeObject) => podMacs(pod),
} as const;

function allocation({ claim, owner }: Held): HistoryEntryView[] {
  const { mac } = claim.spec;
  const what = { automatic: "was given", explicit: "asked for and got", observed: "was found with" }[
    originFor(claim, owner)
  ];
  const entry = { at: owner.since, mac, interface: owner.interface };
  const others = statusOf(claim).owners.filter(({ kind, namespace, name }) => {
    return kind !== owner.kind || namespace !== owner.namespace || name !== owner.name;
  });
  const [firstOther] = others.map(({ since }) => since).sort();
  const at = firstOther === undefined || firstOther < owner.since ? owner.since : firstOther;
  const shared: HistoryEntryView[] =
    others.length === 0
      ? []
      : [{ ...entry, at, what: "shared", message: `shares ${mac} with ${count(others.length)}` }];
  return [...shared, { ...entry, what: "allocated", message: `${what} ${mac} for interface ${owner.interface}` }];
}

const count = (others: number): string => (others === 1 ? "another object" : `${others} other objects`);

function refusal(denial: DenialView, ref: OwnerRef): HistoryEntryView {
  const { at, code, mac, interface: name, message, count: times } = denial;
  return {
    at,
    what: "refused",
    ...(denial.kind === ref.kind ? {} : { object: { kind: denial.kind, name: denial.name } }),
    code,
    ...(mac === undefined ? {} : { mac }),
    ...(name === undefined ? {} : { interface: name }),
    message: times === 1 ? message : `${message} (${times} times)`,
  };
}

const MAX_KEPT = 5_000;

interface HistoryEntry extends HistoryEntryView {
  /** `kind/namespace/name`. */
  readonly key: string;
  readonly owner: ClaimOwner;
}

/** An admission comes before the creation, by another clock. */
const ADMISSION_MS = 60_000;

/** Whether the owner was another object of that name. One that came by admission has no UID. */
function isFormer({ uid, since }: ClaimOwner, { metadata }: KubeObject): boolean {
  if (uid !== undefined) return uid !== metadata.uid;
  return Date.parse(since) + ADMISSION_MS < Date.parse(metadata.creationTimestamp ?? "");
}

/** The last events that claims do not show: when an owner was seen with an address, and which addresses it has given up. */
export class History {
  readonly #clock: Clock;
  readonly #entries: HistoryEntry[] = [];
  #next = 0;
  #isOn = false;

  constructor(catalog: Catalog, clock: Clock) {
    this.#clock = clock;
    catalog.onChange((change) => this.#note(change));
  }

  /** From now on changes are events: the first list is none. */
  begin(): void {
    this.#isOn = true;
  }

  of({ kind, namespace, name }: OwnerRef, object: KubeObject | undefined): HistoryEntryView[] {
    const key = `${kind}/${namespace}/${name}`;
    const former = ` (the former ${kind} of this name)`;
    return this.#entries.flatMap(({ key: own, owner, ...view }) => {
      if (own !== key) return [];
      return [object && isFormer(owner, object) ? { ...view, message: view.message + former } : view];
    });
  }

  #note({ type, now: { claim, phase }, old }: ClaimChange): void {
    // What is adopted was there before.
    if (!this.#isOn || (old === undefined && claim.spec.origin !== "automatic")) return;
    const before = old === undefined ? new Map<string, ClaimOwner>() : namedOwners(old.claim);
    const now = type === "DELETED" ? new Map<string, ClaimOwner>() : namedOwners(claim);
    const at = new Date(this.#clock.now()).toISOString();
    const { mac } = claim.spec;
    for (const [key, owner] of before) {
      if (now.has(key)) continue;
      this.#add({ key, owner, at, what: "released", mac, interface: owner.interface, message: `gave ${mac} back` });
    }
    for (const [key, owner] of now) {
      if (phase !== "Bound" || (old?.phase === "Bound" && before.has(key))) continue;
      this.#add({ key, owner, at, what: "bound", mac, interface: owner.interface, message: `was seen with ${mac}` });
    }
  }

  #add(entry: HistoryEntry): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % MAX_KEPT;
  }
}

function namedOwners(claim: MACClaim): Map<string, ClaimOwner> {
  const named = statusOf(claim).owners.flatMap((owner) => {
    const { kind, namespace, name } = owner;
    return name === undefined ? [] : [[`${kind}/${namespace}/${name}`, owner] as const];
  });
  return new Map(named);
}
