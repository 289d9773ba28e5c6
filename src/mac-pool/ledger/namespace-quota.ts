import type { Mac } from "../../api/mac.ts";
import type { Clock } from "../../kube/clock.ts";
import { RESERVATION_MS } from "../core/limits.ts";
import { NamespaceCounts } from "../core/namespace-counts.ts";
import type { PoolIndex } from "../core/pool-index.ts";
import { namespaceLimit, type Refusal } from "../core/refusals.ts";
import type { ClaimRequest, Wish } from "./claim-request.ts";

interface Known {
  readonly index: PoolIndex;
  readonly clock: Clock;
}

/**
 * Holds a namespace to `maxAddressesPerNamespace` of its pool. Counted are the addresses that the replica's cache shows, in
 * or out of every range, those that this replica has given since, and those that it is about to give.
 */
export class NamespaceQuota {
  readonly #known: Known;
  /** Addresses asked for by requests under way. */
  readonly #asked = new NamespaceCounts();
  /** Addresses given that the cache does not show yet, oldest first. */
  readonly #given = new Map<Mac, { readonly namespace: string; readonly endsAtMs: number }>();

  constructor(known: Known) {
    this.#known = known;
  }

  /** The refusal, or the room that the request takes up until `done` is called with what it was given. */
  enter({ party, pool, wishes, dryRun }: ClaimRequest): Refusal | { readonly done: (macs: readonly Mac[]) => void } {
    const most = pool?.settings.maxAddressesPerNamespace;
    if (pool === undefined || most === undefined) return UNLIMITED;
    const { namespace } = party;
    const { index, clock } = this.#known;
    const asked = wishes.filter((wish) => this.#isNew(wish, namespace)).length;
    if (asked === 0) return UNLIMITED;
    const has = index.ownedBy(namespace) + this.#asked.in(namespace) + this.#givenIn(namespace);
    if (has + asked > most) return namespaceLimit(namespace, pool.name, { has, asked, most });
    if (dryRun) return UNLIMITED;
    this.#asked.change([namespace], asked);
    const done = (macs: readonly Mac[]): void => {
      this.#asked.change([namespace], -asked);
      const endsAtMs = clock.monotonicMs() + RESERVATION_MS;
      for (const mac of macs) if (!this.#isKnown(mac, namespace)) this.#given.set(mac, { namespace, endsAtMs });
    };
    return { done };
  }

  #isNew({ mac }: Wish, namespace: string): boolean {
    return mac === undefined || !(this.#isKnown(mac, namespace) || this.#given.has(mac));
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

const UNLIMITED = { done: () => {} };
