import { claimName } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isWaiting, statusOf } from "../core/claim.ts";
import { mayBe } from "../core/party.ts";
import { instanceMacs, type ListedMac, machineMacs, podMacs } from "../objects/holders.ts";
import type { Informers } from "./informers.ts";

/**
 * Which waiting claims may have had their object, which is gone again. Enough to count leaks; what a claim's life depends on,
 * Admissions knows.
 */
export class Appearances {
  readonly #claims: Pick<Informers["claims"], "get" | "list">;
  /** As they are in the cache, and no longer. */
  readonly #possible = new WeakSet<MACClaim>();

  constructor({ claims, machines, instances, pods }: Pick<Informers, "claims" | "machines" | "instances" | "pods">) {
    this.#claims = claims;
    claims.on({
      // Nobody has watched what came between the claim and its list.
      add: (claim, { created }) => {
        if (!created) this.#note(claim);
      },
      update: (claim, old) => {
        if (this.#possible.has(old)) this.#note(claim);
      },
    });
    this.#follow(machines, machineMacs);
    this.#follow(instances, instanceMacs);
    this.#follow(pods, (pod) => podMacs(pod));
  }

  /** Whether nobody ever had the address, as far as the watches tell, if its claim ends now. `claim` is the one in the cache. */
  isLeak(claim: MACClaim): boolean {
    return statusOf(claim).phase === "Pending" && !this.#possible.has(claim);
  }

  #follow(objects: Informers["pods"], macsOf: (object: KubeObject) => readonly ListedMac[]): void {
    objects.on({
      listed: () => {
        for (const claim of this.#claims.list()) this.#note(claim);
      },
      add: (object) => {
        for (const { mac, holder } of macsOf(object)) {
          const claim = this.#claims.get(claimName(mac));
          if (claim !== undefined && statusOf(claim).owners.some((owner) => mayBe(owner, holder))) this.#note(claim);
        }
      },
    });
  }

  #note(claim: MACClaim): void {
    if (isWaiting(statusOf(claim))) this.#possible.add(claim);
  }
}
