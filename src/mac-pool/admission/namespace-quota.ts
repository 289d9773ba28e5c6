import type { Mac } from "../../api/mac.ts";
import type { Clock } from "../../kube/clock.ts";
import { namespaceLimit } from "../claims/limit-refusals.ts";
import { RESERVATION_MS } from "../claims/limits.ts";
import type { ObjectReference } from "../claims/owner.ts";
import type { Refusal } from "../claims/refusals.ts";
import { NamespaceCounts } from "../pools/namespace-counts.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import { type ClaimRequest, type InterfaceRequest, updateKey } from "./claim-request.ts";

interface Known {
  readonly index: PoolIndex;
  readonly clock: Clock;
  /** Addresses that the interface of a VM has, or may get by an update that is under way, as far as the caches know. */
  readonly addressesOfInterface: (vm: ObjectReference, interfaceName: string) => readonly Mac[];
}

/** What an object asks for, as far as it is counted. */
type QuotaRequest = Pick<ClaimRequest, "ref" | "pool" | "wantedInterfaces" | "listed" | "dryRun">;

interface Given {
  readonly namespace: string;
  readonly update: string | undefined;
  readonly endsAtMs: number;
}

/**
 * Holds a namespace to `maxAddressesPerNamespace` of its pool. Counted are the addresses that the replica's cache shows, in
 * or out of every range, those that this replica has given since, and those that it is about to give. The API server may
 * review an update several times; all its reviews are given one address, and count once.
 */
export class NamespaceQuota {
  readonly #known: Known;
  /** Addresses asked for by requests under way. */
  readonly #asked = new NamespaceCounts();
  /** Interface of an object -> how many reviews of its updates ask for an address. */
  readonly #updates = new Map<string, number>();
  /** Addresses given that the cache does not show yet, oldest first. */
  readonly #given = new Map<Mac, Given>();

  constructor(known: Known) {
    this.#known = known;
  }

  /** The refusal, or the room that the request takes up until `done` is called with what it was given. */
  enter({
    ref,
    pool,
    wantedInterfaces,
    listed,
    dryRun,
  }: QuotaRequest): Refusal | { readonly done: (macs: readonly Mac[]) => void } {
    const most = pool?.settings.maxAddressesPerNamespace;
    if (pool === undefined || most === undefined) return UNLIMITED;
    const { namespace } = ref;
    const { index, clock } = this.#known;
    const given = this.#givenIn(namespace);
    const lacking = wantedInterfaces.filter((wanted) => !this.#has(ref, wanted, listed));
    if (lacking.length === 0) return UNLIMITED;
    const asked = lacking.filter((wanted) => !this.#updates.has(updateOf(ref, wanted) ?? "")).length;
    const left = addressesLeft(namespace, pool, index) - this.#asked.in(namespace) - given;
    if (asked > 0 && asked > left) {
      // What another review of the same update asks for is part of what is told as asked for.
      const has = most - left - (lacking.length - asked);
      return namespaceLimit(namespace, pool.name, { has, asked: lacking.length, most });
    }
    if (dryRun) return UNLIMITED;
    for (const wanted of lacking) this.#ask(ref, wanted, 1);
    const done = (macs: readonly Mac[]): void => {
      for (const wanted of lacking) this.#ask(ref, wanted, -1);
      const endsAtMs = clock.monotonicMs() + RESERVATION_MS;
      for (const [position, wanted] of wantedInterfaces.entries()) {
        const mac = macs[position];
        if (mac === undefined || this.#isKnown(mac, namespace)) continue;
        this.#given.set(mac, { namespace, update: updateOf(ref, wanted), endsAtMs });
      }
    };
    return { done };
  }

  #ask(ref: ObjectReference, wanted: InterfaceRequest, by: 1 | -1): void {
    const update = updateOf(ref, wanted);
    const before = update === undefined ? 0 : (this.#updates.get(update) ?? 0);
    const after = before + by;
    if (update !== undefined && after > 0) this.#updates.set(update, after);
    else if (update !== undefined) this.#updates.delete(update);
    if (update === undefined || before === 0 || after === 0) this.#asked.change([ref.namespace], by);
  }

  /** Whether the address of the interface is counted. One that the object lists is another interface's by now. */
  #has(ref: ObjectReference, wanted: InterfaceRequest, listed: ReadonlySet<Mac>): boolean {
    const { mac } = wanted;
    if (mac !== undefined) {
      return this.#isKnown(mac, ref.namespace) || this.#given.get(mac)?.namespace === ref.namespace;
    }
    const update = updateOf(ref, wanted);
    if (update === undefined) return false;
    for (const [each, given] of this.#given) if (given.update === update && !listed.has(each)) return true;
    return this.#known
      .addressesOfInterface(ref, wanted.interface)
      .some((each) => !listed.has(each) && this.#isKnown(each, ref.namespace));
  }

  #isKnown(mac: Mac, namespace: string): boolean {
    return this.#known.index.claim(mac)?.namespaces.includes(namespace) ?? false;
  }

  #givenIn(namespace: string): number {
    const nowMs = this.#known.clock.monotonicMs();
    let count = 0;
    for (const [mac, given] of this.#given) {
      if (given.endsAtMs <= nowMs || this.#isKnown(mac, given.namespace)) this.#given.delete(mac);
      else if (given.namespace === namespace) count += 1;
    }
    return count;
  }
}

/** How many more addresses objects of a namespace may have, by what the cache shows. */
export function addressesLeft(namespace: string, pool: Pool | undefined, index: Pick<PoolIndex, "ownedBy">): number {
  const most = pool?.settings.maxAddressesPerNamespace ?? Number.POSITIVE_INFINITY;
  return most - index.ownedBy(namespace);
}

/** Undefined for an object that is being created: each creation is another object. */
function updateOf(ref: ObjectReference, wanted: InterfaceRequest): string | undefined {
  return ref.uid === undefined || wanted.mac !== undefined ? undefined : updateKey(ref, wanted);
}

const UNLIMITED = { done: () => {} };
