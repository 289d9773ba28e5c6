import type { WatchEventView } from "../../mac-pool/inspection/rest/views.ts";
import type { ListedClaim } from "./pool-backend.ts";

type Event = WatchEventView<ListedClaim>;

/** The claims that a watch has reported. A new list is turned into the changes since then. */
export class KnownClaims {
  #claims = new Map<string, ListedClaim>();

  /** The changes from the claims known so far to these. */
  replace(claims: readonly ListedClaim[]): readonly Event[] {
    const before = this.#claims;
    this.#claims = new Map(claims.map((claim) => [claim.mac, claim]));
    const gone = [...before.values()].filter(({ mac }) => !this.#claims.has(mac));
    return [
      ...gone.map((object): Event => ({ type: "DELETED", object })),
      ...claims.flatMap((object): Event[] => {
        const former = before.get(object.mac);
        if (former === undefined) return [{ type: "ADDED", object }];
        return isSame(former, object) ? [] : [{ type: "MODIFIED", object }];
      }),
    ];
  }

  /** The event, unless it reports what is known already. */
  apply(event: Event): readonly Event[] {
    const { type, object } = event;
    if (object === undefined) return [];
    const former = this.#claims.get(object.mac);
    if (type === "DELETED") this.#claims.delete(object.mac);
    else this.#claims.set(object.mac, object);
    if (type === "DELETED") return former === undefined ? [] : [event];
    if (former === undefined) return [{ type: "ADDED", object }];
    return former.revision !== undefined && isSame(former, object) ? [] : [{ type: "MODIFIED", object }];
  }
}

/** The phase of a claim becomes Bound when its object comes. The claim is not written then, so its revision stays. */
function isSame(one: ListedClaim, other: ListedClaim): boolean {
  return one.revision === other.revision && one.phase === other.phase;
}
