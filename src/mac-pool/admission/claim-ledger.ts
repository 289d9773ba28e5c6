/**
 * The ledger: turns what admission wants into claims that are durable before it answers. The webhooks of every replica use
 * it; the controllers change claims on their own, through the same ClaimStore. Memory (PoolIndex) only proposes
 * addresses: the API server decides, write by write, whether one is given out.
 */

import type { Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { ConflictPolicy } from "../../api/mac-pool.ts";
import type { Log } from "../../kube/log.ts";
import type { ObjectReference } from "../claims/owner.ts";
import type { Networks } from "../cluster/network-domains.ts";
import { NamespaceCounts } from "../pools/namespace-counts.ts";
import { Allocation, type AllocationOptions } from "./allocation.ts";
import {
  type ClaimRequest,
  type ClaimResult,
  type Granted,
  type InterfaceRequest,
  isPerNetwork,
  type Outcome,
  type Refused,
} from "./claim-request.ts";
import { dryRunMacs } from "./dry-run-macs.ts";
import { claimExplicit, refusalByPolicy } from "./explicit-claim.ts";
import { NamespaceQuota } from "./namespace-quota.ts";
import { pendingLimitReached } from "./pending-limit.ts";

/** The API server did not say what became of the claim, or refused the write. */
interface Failed {
  readonly ok: false;
  readonly error: unknown;
}

export interface LedgerOptions extends AllocationOptions {
  readonly log: Log;
  /** Policy of the pool that serves a namespace, as far as the caches know. */
  readonly policyIn: (namespace: string) => ConflictPolicy | undefined;
  /** Whether whoever was admitted to the claim last may still be stored. */
  readonly isAwaited: (claim: MACClaim) => boolean;
  readonly networks: Networks;
  /** Called for every address that a request was given for good. */
  readonly onGranted: (kind: ObjectReference["kind"], origin: "automatic" | "explicit") => void;
}

export class ClaimLedger {
  readonly #options: LedgerOptions;
  readonly #allocation: Allocation;
  readonly #quota: NamespaceQuota;
  /** Addresses that the requests under way want. */
  readonly #wanted = new NamespaceCounts();

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#allocation = new Allocation(options);
    this.#quota = new NamespaceQuota(options);
  }

  /**
   * Claims all addresses or none. Throws what the API server's refusal or a broken connection throws, after giving back
   * what was claimed; what can't be given back then ends when its wait for an object is over.
   */
  async claim(request: ClaimRequest, signal?: AbortSignal): Promise<ClaimResult> {
    const namespaces = [request.ref.namespace];
    const count = request.dryRun ? 0 : request.wantedInterfaces.length;
    this.#wanted.change(namespaces, count);
    try {
      const limit = pendingLimitReached(this.#options, request, this.#wanted.in(request.ref.namespace));
      const refusal = limit ?? (await refusalByPolicy(this.#options, request, signal));
      return refusal === undefined ? await this.#claimWithinQuota(request, signal) : { ok: false, refusal };
    } finally {
      this.#wanted.change(namespaces, -count);
    }
  }

  async #claimWithinQuota(request: ClaimRequest, signal: AbortSignal | undefined): Promise<ClaimResult> {
    const room = this.#quota.enter(request);
    if ("code" in room) return { ok: false, refusal: room };
    let given: readonly Mac[] = [];
    try {
      const placed = isPerNetwork(request) ? await this.#placed(request, signal) : request;
      const result = await this.#claimAll(placed, signal);
      if (result.ok) given = result.macs;
      return result;
    } finally {
      room.done(given);
    }
  }

  /** The request with the domains of its networks. */
  async #placed(request: ClaimRequest, signal: AbortSignal | undefined): Promise<ClaimRequest> {
    const { namespace } = request.ref;
    const place = async (wanted: InterfaceRequest): Promise<InterfaceRequest> => {
      return { ...wanted, domain: await this.#options.networks.domainOf(wanted.network, namespace, signal) };
    };
    return { ...request, wantedInterfaces: await Promise.all(request.wantedInterfaces.map(place)) };
  }

  async #claimAll(request: ClaimRequest, signal: AbortSignal | undefined): Promise<ClaimResult> {
    const shown = request.dryRun ? dryRunMacs(this.#options, request) : [];
    const attempts = request.wantedInterfaces.map((wanted) => this.#attempt(request, wanted, shown, signal));
    const granted: Granted[] = [];
    let refused: Refused | undefined;
    let failure: Failed | undefined;
    for (const attempt of attempts) {
      const outcome = await attempt;
      if (outcome.ok) granted.push(outcome);
      else if ("refusal" in outcome) refused ??= outcome;
      else failure ??= outcome;
    }
    if (granted.length === request.wantedInterfaces.length) {
      if (!request.dryRun) this.#countGrants(request);
      const warnings = granted.flatMap(({ warnings = [] }) => warnings);
      return { ok: true, macs: granted.map(({ mac }) => mac), warnings };
    }
    await Promise.all(granted.map((grant) => this.#giveBack(grant)));
    if (refused !== undefined) return refused;
    throw failure?.error;
  }

  /** Never rejects: the claims of other interfaces have to be given back then. */
  #attempt(
    request: ClaimRequest,
    wanted: InterfaceRequest,
    shown: Mac[],
    signal: AbortSignal | undefined,
  ): Promise<Outcome | Failed> {
    const granted =
      wanted.mac === undefined
        ? this.#allocation.allocate(request, wanted, shown, signal)
        : claimExplicit(this.#options, request, wanted, wanted.mac, signal);
    return granted.catch(failed);
  }

  #countGrants({ wantedInterfaces, ref }: ClaimRequest): void {
    for (const { mac } of wantedInterfaces)
      this.#options.onGranted(ref.kind, mac === undefined ? "automatic" : "explicit");
  }

  /** Undoes one grant unless somebody has written since. Failing is harmless: the leader does the same when the wait is over. */
  async #giveBack({ mac, written }: Granted): Promise<void> {
    if (written === undefined) return;
    const { store, index, log } = this.#options;
    const { claim, before } = written;
    try {
      if (before === undefined) await store.remove(claim);
      else await store.update({ ...before, metadata: { ...before.metadata, ...versionOf(claim) } });
      index.unreserve(mac);
    } catch (error) {
      log.debug(
        { err: error, claim: claim.metadata.name },
        "could not give a claim back; the leader releases it when no object has come",
      );
    }
  }
}

function versionOf(claim: MACClaim): { resourceVersion: string } {
  return { resourceVersion: claim.metadata.resourceVersion ?? "" };
}

function failed(error: unknown): Failed {
  return { ok: false, error };
}
