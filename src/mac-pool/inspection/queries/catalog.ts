import { MAX_MAC, type Mac, macOfClaimName } from "../../../api/mac.ts";
import type { ClaimOwner, MACClaim, ShownPhase } from "../../../api/mac-claim.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { statusOf } from "../../claims/claim.ts";
import { mayBe, type ObjectReference } from "../../claims/owner.ts";
import type { Caches } from "../../cluster/caches.ts";
import { BY_RUNNING } from "../../cluster/informers.ts";
import { macsOfRunningInstance, macsOfRunningPod } from "../../objects/running.ts";
import { AddressOrder } from "./address-order.ts";
import { poolsWith, Rates } from "./rates.ts";

/** Classes by which a map counts claims; the first is bit 0 of what `classesOf` returns. */
export const CLASSES = ["pending", "bound", "quarantined", "explicit"] as const;

const EMPTY = new AddressOrder<MACClaim>();

/** A claim as it is or was told. */
export interface ToldClaim {
  readonly claim: MACClaim;
  readonly phase: ShownPhase;
}

/** A claim that has come, changed or gone. It changes without being written when an object comes to list its address. */
export interface ClaimChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly now: ToldClaim;
  readonly old: ToldClaim | undefined;
}

/** What inspection keeps besides the caches, so that no question sorts or searches all of them. Follows them while the process lives. */
export class Catalog {
  /** With completed names. */
  readonly claims: AddressOrder<MACClaim>;
  readonly rates: Rates;
  readonly #caches: Caches;
  readonly #byNamespace = new Map<string, AddressOrder<MACClaim>>();
  readonly #shared = new Set<string>();
  readonly #listeners = new Set<(change: ClaimChange) => void>();
  /** The claims that were told to be pending. */
  readonly #pending = new Set<Mac>();
  #revision = 0;

  constructor(caches: Caches, clock: Clock) {
    this.#caches = caches;
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
    caches.pools.on({ delete: ({ metadata }) => this.rates.forget(metadata.name ?? "") });
    this.#follow(caches.instances, macsOfRunningInstance);
    this.#follow(caches.pods, macsOfRunningPod);
    const changed = (): void => {
      this.#revision += 1;
    };
    for (const informer of [caches.pools, caches.machines, caches.namespaces, caches.nodeMacs, caches.networks]) {
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

  claimsIn(namespace: string): AddressOrder<MACClaim> {
    return this.#byNamespace.get(namespace) ?? EMPTY;
  }

  /** How many claims are in a phase, without a look at each. */
  inPhase(phase: ShownPhase): number {
    const counts = new Uint32Array(CLASSES.length);
    this.claims.count(0 as Mac, MAX_MAC, counts, 0);
    return counts[PHASES[phase]] ?? 0;
  }

  /** Names of the namespaces whose objects have claims. */
  namespacesWithClaims(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  /** Tells of each change of a claim, after it was made here. The returned function ends that. */
  onChange(listener: (change: ClaimChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #change(type: ClaimChange["type"], written: MACClaim): void {
    const mac = macOfClaimName(written.metadata.name ?? "");
    if (mac === undefined) return;
    const claim = withCompletedNames(written, () => this.#caches.observedOwners(mac));
    const old = this.#told(mac);
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
    const phase = this.#caches.phaseOf(claim);
    if (type !== "DELETED" && phase === "Pending") this.#pending.add(mac);
    else this.#pending.delete(mac);
    // Admission makes claims that wait for their object. Those of objects that were there before are no sign of what comes.
    // Which is told first, an object or its claim, is up to chance.
    if (type === "ADDED" && (phase === "Pending" || claim.spec.origin === "automatic"))
      this.rates.count("allocations", poolsWith(mac, this.#caches.index.pools()));
    if (type === "DELETED") this.rates.count("releases", poolsWith(mac, this.#caches.index.pools()));
    for (const listener of this.#listeners) listener({ type, now: { claim, phase }, old });
  }

  /** A claim as it was told last. */
  #told(mac: Mac): ToldClaim | undefined {
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
    const { instances, pods } = this.#caches;
    if (instances.byIndex(BY_RUNNING, mac).length + pods.byIndex(BY_RUNNING, mac).length > 1) this.#shared.add(mac);
    else this.#shared.delete(mac);
  }
}

/** Its address in hex digits, and its owners' namespaces and names. */
function textOf({ spec, status }: MACClaim): string {
  let text = spec.mac.replaceAll(":", "");
  for (const { namespace, name, generateName } of status?.owners ?? []) {
    text += ` ${namespace} ${name ?? generateName ?? ""}`;
  }
  return text;
}

/**
 * The claim with the names that the API server has made of prefixes, as far as objects list the address: nothing writes them
 * into it. The same claim where there is nothing to complete.
 */
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
