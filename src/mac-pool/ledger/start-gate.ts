import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, type MACClaim, MAX_CLAIM_OWNERS } from "../../api/mac-claim.ts";
import { isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";
import { statusOf, withStatus } from "../core/claim.ts";
import { MAX_CLAIM_TRIES } from "../core/limits.ts";
import { type Holder, ownerOf, type Party, sameParty } from "../core/party.ts";
import { alreadyRunning, busy, type Refusal, type Runner } from "../core/refusals.ts";
import type { ClaimStore } from "./claim-store.ts";

export interface StartRequest {
  /** The VM that starts. */
  readonly party: Party;
  /** Its interfaces that have an address. */
  readonly interfaces: readonly { readonly mac: Mac; readonly name: string; readonly network: string | undefined }[];
  /** Everything is checked and nothing is written. */
  readonly dryRun: boolean;
}

export interface StartGateOptions {
  readonly store: ClaimStore;
  /** Live read: whether the owner runs now. */
  readonly isRunning: (owner: Party, mac: Mac, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  /** How long an admitted start counts as running. */
  readonly startingMs: () => number;
}

/**
 * Lets one of the owners of an address run, where the policy of their pool is DenyRunning. An admitted start is noted on
 * the claim under its resourceVersion, so of two starts at the same moment the second one sees the first, whichever
 * replicas they ask; also where nobody shared the address at the moment of the first.
 */
export class StartGate {
  readonly #options: StartGateOptions;

  constructor(options: StartGateOptions) {
    this.#options = options;
  }

  /**
   * Undefined when the VM may start, or run on with what is plugged into it. Throws what the API server's refusal or a
   * broken connection throws.
   */
  async refusal(request: StartRequest, what: "start" | "plug-in", signal: AbortSignal): Promise<Refusal | undefined> {
    const { party, interfaces, dryRun } = request;
    const refusals = await Promise.all(
      interfaces.map(({ mac, name, network }) =>
        this.#refusalOf(mac, { ...party, interface: name, network }, { what, dryRun }, signal),
      ),
    );
    return refusals.find((refusal) => refusal !== undefined);
  }

  /**
   * Undefined when the interfaces may be plugged into the VM: while it does not run they are judged when it starts, while
   * it runs it is as if it was started with them.
   */
  async refusalOfPlugIn(request: StartRequest, signal: AbortSignal): Promise<Refusal | undefined> {
    const [first] = request.interfaces;
    if (first === undefined || !(await this.#options.isRunning(request.party, first.mac, signal))) return undefined;
    return this.refusal(request, "plug-in", signal);
  }

  async #refusalOf(
    mac: Mac,
    party: Holder,
    { what, dryRun }: { readonly what: "start" | "plug-in"; readonly dryRun: boolean },
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const { store, clock, startingMs } = this.#options;
    for (let attempt = 0; attempt < MAX_CLAIM_TRIES; attempt++) {
      const claim = await store.read(mac, signal);
      if (claim === undefined || statusOf(claim).owners.length === 0) return undefined;
      const others = statusOf(claim).owners.filter((owner) => !sameParty(owner, party));
      const runner = await this.#runnerAmong(others, mac, signal);
      if (runner !== undefined)
        return alreadyRunning(mac, party, runner, what === "plug-in" ? party.interface : undefined);
      if (dryRun) return undefined;
      try {
        await store.update(noted(claim, party, clock.now(), startingMs()), signal);
        return undefined;
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    return busy("a claim of this object");
  }

  async #runnerAmong(owners: readonly ClaimOwner[], mac: Mac, signal: AbortSignal): Promise<Runner | undefined> {
    const nowMs = this.#options.clock.now();
    for (const owner of owners) {
      const isStarting = Date.parse(owner.starting ?? "") > nowMs;
      if (isComing(owner)) return { owner, state: "coming" };
      const isRunning = this.#options.isRunning(owner, mac, signal);
      if (await (isStarting ? isRunning.catch(() => false) : isRunning)) return { owner, state: "running" };
      if (isStarting) return { owner, state: "starting" };
    }
    return undefined;
  }
}

/** Admitted and not seen: a pod or a VMI without a VM runs as soon as it is there, which no read can show yet. */
function isComing({ kind, uid }: ClaimOwner): boolean {
  return kind !== "VirtualMachine" && uid === undefined;
}

/** Whoever starts is known by name; where the claim knows it by a prefix only, it becomes an owner beside that. */
function noted(claim: MACClaim, party: Holder, nowMs: number, startingMs: number): MACClaim {
  const status = statusOf(claim);
  const isKnown = status.owners.some((owner) => sameParty(owner, party)) || status.owners.length >= MAX_CLAIM_OWNERS;
  const owners = isKnown ? status.owners : [...status.owners, ownerOf(party, new Date(nowMs).toISOString())];
  const starting = new Date(nowMs + startingMs).toISOString();
  const marked = owners.map((owner) => (sameParty(owner, party) ? { ...owner, starting } : owner));
  return withStatus(claim, { ...status, owners: marked });
}
