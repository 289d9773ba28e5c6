import { MAX_MAC, type Mac, macOfClaimName } from "../../../api/mac.ts";
import type { ClaimOwner, MACClaim, ShownPhase } from "../../../api/mac-claim.ts";
import { flappingMacs } from "../../../api/seen-elsewhere.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { statusOf } from "../../claims/claim.ts";
import { mayBe, type ObjectReference } from "../../claims/owner.ts";
import type { Caches } from "../../cluster/caches.ts";
import { BY_FLAPPING, BY_RUNNING } from "../../cluster/informers.ts";
import { onEach } from "../../controllers/following.ts";
import { macsOfRunningInstance, macsOfRunningPod } from "../../objects/running.ts";
import { AddressOrder } from "./address-order.ts";
import { Rates } from "./fill-rate.ts";

/** Classes by which a map counts claims; the first is bit 0 of what `classesOf` returns. */
export const CLASSES = ["pending", "bound", "quarantined", "explicit"] as const;

const EMPTY = new AddressOrder<MACClaim>();

/** A claim, and its phase as of now or as it was reported. */
export interface ClaimState {
  readonly claim: MACClaim;
  readonly phase: ShownPhase;
}

/** A claim that has come, changed or gone. The phase of a claim changes without a write when an object lists its address. */
export interface ClaimChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly now: ClaimState;
  readonly old: ClaimState | undefined;
}

/** What inspection keeps besides the caches, so that no question sorts or searches all of them. Follows the caches. */
export class Catalog {
  readonly caches: Caches;
  /** With completed names. */
  readonly claims: AddressOrder<MACClaim>;
  readonly rates: Rates;
  readonly #byNamespace = new Map<string, AddressOrder<MACClaim>>();
  readonly #shared = new Set<string>();
  readonly #flapping = new Set<string>();
  readonly #listeners: ((change: ClaimChange) => void)[] = [];
  /** Claims that were reported as pending. */
  readonly #pending = new Set<Mac>();
  #revision = 0;

  constructor(caches: Caches, clock: Clock) {
    this.caches = caches;
    this.rates = new Rates(clock);
    const classesOf = (claim: MACClaim): number =>
      (1 << PHASES[caches.phaseOf(claim)]) | (claim.spec.origin === "automatic" ? 0 : 1 << EXPLICIT);
    this.claims = new AddressOrder<MACClaim>({ classes: CLASSES.length, classesOf, textOf });
    caches.index.pending.onChange((mac, change) => {
      const claim = change === "gone" ? undefined : this.claims.get(mac);
      if (claim !== undefined) this.#change("MODIFIED", claim);
    });
    caches.claims.on({
      add: (claim) => this.#change("ADDED", claim),
      update: (claim) => this.#change("MODIFIED", claim),
      delete: (claim) => this.#change("DELETED", claim),
    });
    caches.pools.on({
      add: ({ metadata }) => this.rates.know(metadata.name ?? ""),
      delete: ({ metadata }) => this.rates.forget(metadata.name ?? ""),
    });
    this.#follow(caches.instances, macsOfRunningInstance);
    this.#follow(caches.pods, macsOfRunningPod);
    onEach(caches.nodeMacs, (report) => {
      for (const mac of flappingMacs(report)) {
        if (caches.nodeMacs.byIndex(BY_FLAPPING, mac).length > 0) this.#flapping.add(mac);
        else this.#flapping.delete(mac);
      }
    });
    const changed = (): void => {
      this.#revision += 1;
    };
    const { pools, machines, namespaces, nodeMacs, networks, nodes } = caches;
    for (const informer of [pools, machines, namespaces, nodeMacs, networks, nodes]) {
      (informer as Pick<Informer<KubeObject>, "on">).on({ add: changed, update: changed, delete: changed });
    }
  }

  /** Grows with every change of what the caches know. */
  get revision(): number {
    return this.#revision;
  }

  /** Addresses that several running objects have, whether or not they can meet. */
  get shared(): ReadonlySet<string> {
    return this.#shared;
  }

  /** Addresses that a node has found on both sides of an uplink, whoever has them. */
  get flapping(): ReadonlySet<string> {
    return this.#flapping;
  }

  claimsIn(namespace: string): AddressOrder<MACClaim> {
    return this.#byNamespace.get(namespace) ?? EMPTY;
  }

  /** How many claims are in a phase. Reads no claim. */
  inPhase(phase: ShownPhase): number {
    const counts = new Uint32Array(CLASSES.length);
    this.claims.count(0 as Mac, MAX_MAC, counts, 0);
    return counts[PHASES[phase]] ?? 0;
  }

  /** Names of the namespaces whose objects have claims. */
  namespacesWithClaims(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  /** Calls with each change of a claim, after it was made here. */
  onChange(listener: (change: ClaimChange) => void): void {
    this.#listeners.push(listener);
  }

  #change(type: ClaimChange["type"], written: MACClaim): void {
    const mac = macOfClaimName(written.metadata.name ?? "");
    if (mac === undefined) return;
    const claim = withCompletedNames(written, () => this.caches.observedOwners(mac));
    const old = this.#reported(mac);
    this.#revision += 1;
    if (type === "DELETED") this.claims.delete(mac);
    else this.claims.set(mac, claim);
    const now = type === "DELETED" ? NOWHERE : namespacesOf(claim);
    for (const namespace of now) {
      const order = this.#byNamespace.get(namespace) ?? new AddressOrder<MACClaim>({ textOf });
      this.#byNamespace.set(namespace, order);
      order.set(mac, claim);
    }
    for (const namespace of old === undefined ? NOWHERE : namespacesOf(old.claim)) {
      if (now.has(namespace)) continue;
      const order = this.#byNamespace.get(namespace);
      order?.delete(mac);
      if (order?.size === 0) this.#byNamespace.delete(namespace);
    }
    const phase = this.caches.phaseOf(claim);
    if (type !== "DELETED" && phase === "Pending") this.#pending.add(mac);
    else this.#pending.delete(mac);
    // Claims of adoption are not counted: their objects were there before. A claim of admission is pending or automatic; it is
    // pending only where the watch reports it before its object.
    if (type === "ADDED" && (phase === "Pending" || claim.spec.origin === "automatic"))
      this.rates.count("allocations", mac, this.caches.index.pools());
    if (type === "DELETED") this.rates.count("releases", mac, this.caches.index.pools());
    for (const listener of this.#listeners) listener({ type, now: { claim, phase }, old });
  }

  /** A claim as it was reported last. */
  #reported(mac: Mac): ClaimState | undefined {
    const claim = this.claims.get(mac);
    if (claim === undefined) return undefined;
    return { claim, phase: this.#pending.has(mac) ? "Pending" : settledPhase(claim) };
  }

  #follow(informer: Informer<KubeObject>, macsOf: (object: KubeObject) => readonly string[]): void {
    const compare = (macs: readonly string[]): void => {
      this.#revision += 1;
      for (const mac of macs) this.#compare(mac);
    };
    informer.on({
      add: (object) => compare(macsOf(object)),
      update: (object, old) => compare([...macsOf(object), ...macsOf(old)]),
      delete: (object) => compare(macsOf(object)),
    });
  }

  #compare(mac: string): void {
    const { instances, pods } = this.caches;
    if (instances.byIndex(BY_RUNNING, mac).length + pods.byIndex(BY_RUNNING, mac).length > 1) this.#shared.add(mac);
    else this.#shared.delete(mac);
  }
}

/** Its address in hex digits, and its owners as namespace/name. */
function textOf({ spec, status }: MACClaim): string {
  let text = spec.mac.replaceAll(":", "");
  for (const { namespace, name, generateName } of status?.owners ?? []) {
    text += ` ${namespace}/${name ?? generateName ?? ""}`;
  }
  return text;
}

/** The claim with the names of owners that it knows by generateName only. They come from the objects that list the address. */
export function withCompletedNames(claim: MACClaim, objectsListing: () => readonly ObjectReference[]): MACClaim {
  const status = statusOf(claim);
  if (status.owners.every(({ name }) => name !== undefined)) return claim;
  const taken = new Set(status.owners.flatMap(({ name }) => name ?? []));
  const owners = status.owners.map((owner): ClaimOwner => {
    if (owner.name !== undefined) return owner;
    const found = objectsListing().find((observed) => mayBe(owner, observed) && !taken.has(observed.name ?? ""));
    if (found?.name === undefined) return owner;
    taken.add(found.name);
    const { generateName: _, ...known } = owner;
    return { ...known, name: found.name };
  });
  return { ...claim, status: { ...status, owners } };
}

/** Of a claim that is not pending. */
function settledPhase(claim: MACClaim): ShownPhase {
  return statusOf(claim).phase === "Quarantined" ? "Quarantined" : "Bound";
}

const NOWHERE: ReadonlySet<string> = new Set();

function namespacesOf(claim: MACClaim): ReadonlySet<string> {
  return new Set(statusOf(claim).owners.map(({ namespace }) => namespace));
}

/** Places of CLASSES. */
const PHASES = { Pending: 0, Bound: 1, Quarantined: 2 } as const;
const EXPLICIT = 3;
