import type { ObjectReference } from "../../claims/owner.ts";
import type { FindingView } from "../rest/views.ts";

/** Groups that are told apart; further addresses are findings of their own. */
const MAX_GROUPS = 1_000;
/** Of more objects than these, each address is a finding of its own: names are long. */
const MAX_OBJECTS = 8;
const MAX_NAMED = 3;

type Named = Pick<ObjectReference, "kind" | "namespace" | "name">;

/** An address that several objects have, as far as the reader may see them. */
export interface SharedAddress {
  readonly mac: string;
  readonly visible: readonly Named[];
  /** With those that the reader may not see. */
  readonly objects: number;
  readonly areRunning: boolean;
  /** Since when it is shared, where that is known. */
  readonly since: string | undefined;
}

interface Group extends SharedAddress {
  readonly macs: string[];
  count: number;
}

/** Findings about addresses that several objects have: one for all that the same objects share, with the first of them. */
export class SharedAddresses {
  readonly #groups = new Map<string, Group>();
  readonly #macs = new Set<string>();

  has(mac: string): boolean {
    return this.#macs.has(mac);
  }

  add(shared: SharedAddress): void {
    const { mac, visible, objects, areRunning } = shared;
    this.#macs.add(mac);
    const names = visible.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`).sort();
    const isOwn = visible.length > MAX_OBJECTS || this.#groups.size >= MAX_GROUPS;
    const key = isOwn ? mac : [areRunning, objects, ...names].join(" ");
    const group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, { ...shared, macs: [mac], count: 1 });
    else {
      group.count += 1;
      if (group.macs.length < MAX_NAMED) group.macs.push(mac);
    }
  }

  *findings(): Generator<FindingView> {
    for (const { mac, macs, count, visible, objects, areRunning, since } of this.#groups.values()) {
      const [first] = visible;
      const who = `${objects} ${areRunning ? "running objects" : "objects"}`;
      const more = count > macs.length ? ` and ${count - macs.length} more` : "";
      const owner = first?.name && { kind: first.kind, namespace: first.namespace, name: first.name };
      yield {
        code: "SHARED_ADDRESS",
        mac,
        ...(owner && { owner }),
        ...(since && { since }),
        message:
          count === 1 ? `${who} have ${mac}.` : `The same ${who} have ${count} addresses: ${macs.join(", ")}${more}.`,
        advice: count === 1 ? GIVE_ANOTHER : GIVE_OTHERS,
      };
    }
  }
}

const GIVE_ANOTHER = "Give all but one of them another address before they run on the same network.";
const GIVE_OTHERS = "Give all but one of them other addresses before they run on the same network.";
