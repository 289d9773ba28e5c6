import { claimName, type Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KINDS } from "../objects/kinds.ts";

/**
 * The only ways in which a claim is ever written. Each is one atomic compare-and-set in etcd: a create succeeds for
 * exactly one caller, update and remove succeed only against the very version that the caller has read.
 * Failures are the ApiErrors of the client: AlreadyExists, Conflict, NotFound.
 */
export interface ClaimStore {
  create(claim: MACClaim, signal?: AbortSignal): Promise<MACClaim>;
  /** Quorum read; undefined when there is none. */
  read(mac: Mac, signal?: AbortSignal): Promise<MACClaim | undefined>;
  update(claim: MACClaim, signal?: AbortSignal): Promise<MACClaim>;
  remove(claim: MACClaim, signal?: AbortSignal): Promise<void>;
}

const WRITE_TIMEOUT_MS = 8_000;

export function apiClaimStore(client: KubeClient): ClaimStore {
  const options = (signal: AbortSignal | undefined) => ({
    timeoutMs: WRITE_TIMEOUT_MS,
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    create: (claim, signal) => client.create(KINDS.claims, claim, options(signal)),
    async read(mac, signal) {
      try {
        return await client.get(KINDS.claims, { name: claimName(mac) }, options(signal));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    update: (claim, signal) => client.update(KINDS.claims, mustHaveVersion(claim), options(signal)),
    remove(claim, signal) {
      const { name = "", uid, resourceVersion } = mustHaveVersion(claim).metadata;
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      return client.delete(KINDS.claims, { name }, { ...preconditions, ...options(signal) });
    },
  };
}

/** The API server takes an update or delete without a version as unconditional, which would undo newer facts. */
function mustHaveVersion(claim: MACClaim): MACClaim {
  if (!claim.metadata.resourceVersion) {
    throw new Error(`claim ${claim.metadata.name} has no resourceVersion: an unconditional write is not allowed`);
  }
  return claim;
}
