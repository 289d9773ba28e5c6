import { claimName, type Mac } from "../../src/api/mac.ts";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { ClaimStore } from "../../src/mac-pool/ledger/claim-store.ts";

/** A ClaimStore with the API server's rules. `pause` runs before each call and decides who comes first. */
export class MemoryClaimStore implements ClaimStore {
  readonly claims = new Map<string, MACClaim>();
  readonly writes: string[] = [];
  readonly #pause: () => Promise<void>;
  #version = 0;

  constructor(pause: () => Promise<void> = () => Promise.resolve()) {
    this.#pause = pause;
  }

  async create(claim: MACClaim): Promise<MACClaim> {
    await this.#pause();
    const name = claim.metadata.name ?? "";
    if (this.claims.has(name)) throw refused(409, "AlreadyExists", name);
    return this.#store(name, claim, `uid-${++this.#version}`, "create");
  }

  async read(mac: Mac): Promise<MACClaim | undefined> {
    await this.#pause();
    return this.claims.get(claimName(mac));
  }

  async update(claim: MACClaim): Promise<MACClaim> {
    await this.#pause();
    const { name, uid } = this.#current(claim);
    return this.#store(name, claim, uid, "update");
  }

  async remove(claim: MACClaim): Promise<void> {
    await this.#pause();
    const { name } = this.#current(claim);
    this.claims.delete(name);
    this.writes.push(`remove ${name}`);
  }

  #current(claim: MACClaim): { name: string; uid: string } {
    const { name = "", resourceVersion } = claim.metadata;
    const known = this.claims.get(name);
    if (known === undefined) throw refused(404, "NotFound", name);
    if (known.metadata.resourceVersion !== resourceVersion) throw refused(409, "Conflict", name);
    return { name, uid: known.metadata.uid ?? "" };
  }

  #store(name: string, claim: MACClaim, uid: string, verb: string): MACClaim {
    const stored = { ...claim, metadata: { ...claim.metadata, uid, resourceVersion: String(++this.#version) } };
    this.claims.set(name, stored);
    this.writes.push(`${verb} ${name}`);
    return stored;
  }
}

function refused(status: number, reason: string, name: string): ApiError {
  return new ApiError({ status, reason, message: `${reason} ${name}` });
}
