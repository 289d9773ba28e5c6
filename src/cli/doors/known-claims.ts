import type { WatchEventView } from "../../mac-pool/inspection/rest/views.ts";
import type { ListedClaim } from "./door.ts";

type Event = WatchEventView<ListedClaim>;

/** What a watch has told, so that a list that takes its place is told as the changes in between. */
export class KnownClaims {
  #claims = new Map<string, ListedClaim>();

  /** The events that lead to these claims. */
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

  /** The event, unless it tells what is known already. */
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

/** Its phase changes without a write when its object comes. */
function isSame(one: ListedClaim, other: ListedClaim): boolean {
  return one.revision === other.revision && one.phase === other.phase;
}
