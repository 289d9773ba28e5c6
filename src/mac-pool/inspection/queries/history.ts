import type { ClaimOwner, MACClaim } from "../../../api/mac-claim.ts";
import type { Clock } from "../../../kube/clock.ts";
import { statusOf } from "../../claims/claim.ts";
import type { StoryEntryView } from "../rest/views.ts";
import type { Catalog, ClaimChange } from "./catalog.ts";

const MAX_KEPT = 5_000;

export interface Told extends StoryEntryView {
  /** `kind/namespace/name`. */
  readonly owner: string;
}

/** What claims do not tell: when an owner was seen with an address, and which ones it has given up. The last events, since this replica runs. */
export class History {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #told: Told[] = [];
  #next = 0;
  #isOn = false;

  constructor(catalog: Pick<Catalog, "onChange">, clock: Clock, max = MAX_KEPT) {
    this.#clock = clock;
    this.#max = max;
    catalog.onChange((change) => this.#note(change));
  }

  /** From now on changes are events: the first list is none. */
  begin(): void {
    this.#isOn = true;
  }

  of(owner: string): StoryEntryView[] {
    return this.#told.filter((told) => told.owner === owner).map(({ owner: _, ...entry }) => entry);
  }

  #note({ type, now: { claim, phase }, old }: ClaimChange): void {
    // What is adopted was there before.
    if (!this.#isOn || (old === undefined && claim.spec.origin !== "automatic")) return;
    const before = old === undefined ? new Map<string, ClaimOwner>() : namedOwners(old.claim);
    const now = type === "DELETED" ? new Map<string, ClaimOwner>() : namedOwners(claim);
    const at = new Date(this.#clock.now()).toISOString();
    const { mac } = claim.spec;
    for (const [owner, { interface: name }] of before) {
      if (now.has(owner)) continue;
      this.#add({ owner, at, what: "released", mac, interface: name, message: `gave ${mac} back` });
    }
    for (const [owner, { interface: name }] of now) {
      if (phase !== "Bound" || (old?.phase === "Bound" && before.has(owner))) continue;
      this.#add({ owner, at, what: "bound", mac, interface: name, message: `was seen with ${mac}` });
    }
  }

  #add(told: Told): void {
    this.#told[this.#next] = told;
    this.#next = (this.#next + 1) % this.#max;
  }
}

function namedOwners(claim: MACClaim): Map<string, ClaimOwner> {
  const named = statusOf(claim).owners.flatMap((owner) => {
    const { kind, namespace, name } = owner;
    return name === undefined ? [] : [[`${kind}/${namespace}/${name}`, owner] as const];
  });
  return new Map(named);
}
