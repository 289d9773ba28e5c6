import { claimName, type Mac } from "../../src/api/mac.ts";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { ClaimStore } from "../../src/mac-pool/claims/claim-store.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { ObjectStore } from "../support/object-store.ts";

const { claims: CLAIMS } = KINDS;
const VERBS = { ADDED: "create", MODIFIED: "update", DELETED: "remove" };

/** A ClaimStore with the API server's rules. `pause` runs before each call and decides who comes first. */
export class MemoryClaimStore implements ClaimStore {
  readonly writes: string[] = [];
  readonly #objects = new ObjectStore();
  readonly #pause: () => Promise<void>;

  constructor(pause: () => Promise<void> = () => Promise.resolve()) {
    this.#pause = pause;
    this.#objects.watch(({ type, object }) => this.writes.push(`${VERBS[type]} ${object.metadata.name}`));
  }

  /** By name. */
  get claims(): ReadonlyMap<string, MACClaim> {
    return new Map(this.#objects.list(CLAIMS.plural).map((claim) => [claim.metadata.name ?? "", asClaim(claim)]));
  }

  async create(claim: MACClaim): Promise<MACClaim> {
    await this.#pause();
    return asClaim(this.#objects.create(CLAIMS, claim as KubeObject));
  }

  async read(mac: Mac): Promise<MACClaim | undefined> {
    await this.#pause();
    const found = this.#objects.get(CLAIMS.plural, claimName(mac));
    return found && asClaim(found);
  }

  async update(claim: MACClaim): Promise<MACClaim> {
    await this.#pause();
    return asClaim(this.#objects.update(CLAIMS, claim as KubeObject));
  }

  async remove({ metadata: { name = "", resourceVersion } }: MACClaim): Promise<void> {
    await this.#pause();
    this.#objects.remove(CLAIMS, { name }, { resourceVersion });
  }
}

const asClaim = (object: KubeObject): MACClaim => object as unknown as MACClaim;
