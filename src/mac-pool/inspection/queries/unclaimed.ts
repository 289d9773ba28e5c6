import { formatMac, type Mac } from "../../../api/mac.ts";
import { statusOf } from "../../claims/claim.ts";
import type { ObjectReference } from "../../claims/owner.ts";
import { type CachedOwner, hasSay } from "../../cluster/standing.ts";
import { adoptionOf } from "../../controllers/adoption.ts";
import type { FindingView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { type Scope, sees } from "./scope.ts";

/** What objects list and have no claim of, as far as the reader may see them. */
export class UnclaimedAddresses {
  readonly #catalog: Catalog;
  readonly #scope: Scope;
  /** Objects that only list addresses, and which. */
  readonly #onlyListed = new Map<string, { readonly owner: Named; readonly macs: Set<Mac> }>();

  constructor(catalog: Catalog, scope: Scope) {
    this.#catalog = catalog;
    this.#scope = scope;
  }

  /** The finding about an address that the leader is about to adopt. */
  see(mac: Mac, owner: CachedOwner): FindingView | undefined {
    const { kind, namespace, name } = owner;
    if (!sees(this.#scope, owner) || name === undefined) return undefined;
    const { caches, claims } = this.#catalog;
    const claim = claims.get(mac);
    const named = { kind, namespace, name };
    if (claim === undefined && adoptionOf(mac, [owner], caches) !== undefined) {
      return {
        code: "OWNER_WITHOUT_CLAIM",
        mac: formatMac(mac),
        owner: named,
        message: `${kind} ${namespace}/${name} has ${formatMac(mac)}, which has no claim.`,
        advice: "Nothing else is given this address. The leader adopts it soon; if not, look at its log.",
      };
    }
    const status = claim === undefined ? undefined : statusOf(claim);
    const concerns = status === undefined ? caches.index.isInRange(mac) : status.phase !== "Quarantined";
    if (concerns && !hasSay(mac, owner, status?.owners ?? [], caches)) this.#noteListed(mac, named);
    return undefined;
  }

  #noteListed(mac: Mac, owner: Named): void {
    const key = `${owner.kind} ${owner.namespace}/${owner.name}`;
    const known = this.#onlyListed.get(key) ?? { owner, macs: new Set() };
    this.#onlyListed.set(key, known);
    known.macs.add(mac);
  }

  /** One finding for each object: it can list any number of addresses. */
  *onlyListed(): Generator<FindingView> {
    for (const [described, { owner, macs }] of this.#onlyListed) {
      const [first = 0 as Mac] = macs;
      const more = macs.size === 1 ? "" : ` and ${macs.size - 1} more`;
      yield {
        code: "LISTED_WITHOUT_CLAIM",
        ...(macs.size === 1 ? { mac: formatMac(first) } : {}),
        owner,
        message: `${described} lists ${formatMac(first)}${more}, and no claim says that it has ${macs.size === 1 ? "it" : "them"}.`,
        advice: GIVE_OTHERS,
      };
    }
  }
}

interface Named extends Pick<ObjectReference, "kind" | "namespace"> {
  readonly name: string;
}

const GIVE_OTHERS =
  "Nobody is refused an address because of it, and the pool chooses what it lists last. Give it addresses that its namespace may " +
  "have: see explicitAddresses and maxAddressesPerNamespace of its MACPool, and whether another object has them.";
