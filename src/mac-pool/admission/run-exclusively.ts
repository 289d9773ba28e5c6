import { claimName, type Mac } from "../../api/mac.ts";
import {
  type ClaimOwner,
  isNamesake,
  type MACClaim,
  MAX_CLAIM_OWNERS,
  type MacClaimStatus,
} from "../../api/mac-claim.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";
import { newClaim, statusOf, withStatus } from "../claims/claim.ts";
import type { ClaimStore } from "../claims/claim-store.ts";
import { areApart, joined } from "../claims/layer2-domain.ts";
import { MAX_CLAIM_TRIES } from "../claims/limits.ts";
import { positionsOf, UNCLAIMED, withObjectsListing } from "../claims/listing-objects.ts";
import { type InterfaceOwner, mayBe, type ObjectReference, type ObservedOwner, ownerOf } from "../claims/owner.ts";
import { alreadyRunning, busy, type Refusal, type Runner } from "../claims/refusals.ts";
import type { Networks } from "../cluster/network-domains.ts";
import type { RunningQuery } from "../cluster/running-owner.ts";
import type { StartTimes } from "./start-times.ts";

export interface StartRequest {
  /** The VM that starts. */
  readonly ref: ObjectReference;
  /** Its interfaces that have an address. */
  readonly interfaces: readonly { readonly mac: Mac; readonly name: string; readonly network: string | undefined }[];
  /** Everything is checked and nothing is written. */
  readonly dryRun: boolean;
  /** Its instance waits for a live migration, by its own account. */
  readonly waits: boolean;
}

export interface RunExclusivelyOptions {
  readonly store: ClaimStore;
  /** Live read: whether the owner runs now. */
  readonly isRunning: (owner: ObjectReference, query: RunningQuery) => Promise<boolean>;
  readonly clock: Clock;
  /** Live read: whether the VM waits to receive a live migration. */
  readonly isReceiver: (vm: ObjectReference, signal: AbortSignal) => Promise<boolean>;
  /** Objects in the caches that list the address, whatever the claims say. */
  readonly objectsListing: (mac: Mac) => readonly ObservedOwner[];
  /** Whether the pool manages the object: what it does not manage keeps nobody from running. */
  readonly isManaged: (owner: ObjectReference) => boolean;
  readonly networks: Networks;
  readonly times: StartTimes;
  /** Whether what the claim was made for may still be stored, so that no read can show it yet. */
  readonly isAwaited: (claim: MACClaim) => boolean;
  /** How long an admitted start counts as running. */
  readonly startingMs: () => number;
}

/**
 * Lets only one owner of an address run, under the policy DenyRunning and beside receivers of live migrations. An admitted start is written to the claim under its
 * resourceVersion. So the second of two simultaneous starts sees the first, whichever replicas they ask, even if the
 * address had only one owner at the first.
 */
export class RunExclusively {
  readonly #options: RunExclusivelyOptions;

  constructor(options: RunExclusivelyOptions) {
    this.#options = options;
  }

  /**
   * Undefined when the VM may start, or run on with what is plugged into it. Throws what the API server's refusal or a
   * broken connection throws.
   */
  async refusal(request: StartRequest, what: "start" | "plug-in", signal: AbortSignal): Promise<Refusal | undefined> {
    const { ref, interfaces, dryRun, waits } = request;
    const refusals = await Promise.all(
      interfaces.map(({ mac, name, network }) =>
        this.#refusalOf(mac, { ...ref, interface: name, network }, { what, dryRun, waits }, signal),
      ),
    );
    return refusals.find((refusal) => refusal !== undefined);
  }

  /**
   * Undefined when the interfaces may be plugged into the VM. While it runs, they are judged like a start with them; else
   * they are judged when it starts.
   */
  async refusalOfPlugIn(request: StartRequest, signal: AbortSignal): Promise<Refusal | undefined> {
    const [first] = request.interfaces;
    const { ref: asking } = request;
    if (first === undefined || !(await this.#options.isRunning(asking, { mac: first.mac, asking, signal })))
      return undefined;
    return this.refusal(request, "plug-in", signal);
  }

  async #refusalOf(
    mac: Mac,
    ref: InterfaceOwner,
    { what, dryRun, waits }: { readonly what: "start" | "plug-in"; readonly dryRun: boolean; readonly waits: boolean },
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const { store, clock, startingMs, objectsListing, isManaged } = this.#options;
    const domains = await this.#domainsOf(ref, signal);
    for (let attempt = 0; attempt < MAX_CLAIM_TRIES; attempt++) {
      const claim = await store.read(mac, signal);
      const listed = objectsListing(mac);
      const status = withObjectsListing(claim === undefined ? UNCLAIMED : statusOf(claim), listed, clock.now());
      const others = status.owners.filter((owner) => !isNamesake(owner, ref) && isManaged(owner));
      if (claim !== undefined && status.owners.length === 0) return undefined;
      const isMarked = waits && status.owners.some((owner) => owner.receiver && mayBe(owner, ref));
      if (isMarked && (await this.#options.isReceiver(ref, signal))) return undefined;
      const meeting = await this.#meeting(domains, others, listed, signal);
      const isAwaited = claim !== undefined && this.#options.isAwaited(claim);
      const runner = await this.#runnerAmong(meeting, { mac, asking: ref, isAwaited, signal });
      if (runner !== undefined) return alreadyRunning(mac, ref, runner, what === "plug-in" ? ref.interface : undefined);
      if (dryRun || onlyLists(ref, status, listed)) return undefined;
      try {
        const next = noted(status, { ...ref, domains }, clock.now(), startingMs());
        if (claim === undefined)
          await store.create(newClaim(mac, { pool: undefined, origin: "explicit" }, next), signal);
        else await store.update(withStatus(claim, next), signal);
        return undefined;
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error) && !isAlreadyExists(error)) throw error;
      }
    }
    return busy("a claim of this object");
  }

  /** Where the interface leads now; undefined where the pool does not tell networks apart, or the network is not known. */
  async #domainsOf(
    { network, namespace }: InterfaceOwner,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    const { networks } = this.#options;
    if (networks.scopeIn(namespace) !== "Network") return undefined;
    const domain = await networks.domainOf(network, namespace, signal);
    return domain === undefined ? undefined : [domain];
  }

  /** The owners that may be in one of these domains. */
  async #meeting(
    domains: readonly string[] | undefined,
    owners: readonly ClaimOwner[],
    objectsListing: readonly ObservedOwner[],
    signal: AbortSignal,
  ): Promise<readonly ClaimOwner[]> {
    if (domains === undefined) return owners;
    const domainsOf = await this.#options.networks.of([...owners, ...objectsListing], signal);
    return owners.filter(
      (owner) => !positionsOf(owner, objectsListing).every((place) => areApart(domainsOf(place), domains)),
    );
  }

  /** Asks about all owners side by side: the start waits for the slowest answer only. */
  async #runnerAmong(owners: readonly ClaimOwner[], at: At): Promise<Runner | undefined> {
    const answers = await Promise.allSettled(owners.map((owner) => this.#runnerOf(owner, at)));
    for (const answer of answers) if (answer.status === "fulfilled" && answer.value !== undefined) return answer.value;
    for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
    return undefined;
  }

  async #runnerOf(owner: ClaimOwner, { isAwaited, ...query }: At): Promise<Runner | undefined> {
    const leftMs = this.#options.times.leftMs(claimName(query.mac), owner);
    const isStarting = leftMs > 0;
    const isRunning = this.#options.isRunning(owner, query);
    if (await (isStarting ? isRunning.catch(() => false) : isRunning)) return { owner, state: "running" };
    // A pod or a VMI without a VM runs as soon as it is there.
    if (isAwaited && owner.kind !== "VirtualMachine") return { owner, state: "coming" };
    const untilMs = this.#options.clock.now() + leftMs;
    return isStarting ? { owner, state: "starting", until: new Date(untilMs).toISOString() } : undefined;
  }
}

/** What has no right to the address gets none by its start, and keeps nobody from starting. */
function onlyLists(ref: InterfaceOwner, { owners }: MacClaimStatus, objectsListing: readonly ObservedOwner[]): boolean {
  const own = objectsListing.filter((observed) => isNamesake(observed, ref));
  const isOwner = owners.some((owner) => isNamesake(owner, ref));
  return !isOwner && own.length > 0 && own.every((observed) => observed.onlyLists);
}

interface At extends RunningQuery {
  readonly isAwaited: boolean;
}

/** A VM that starts has a name. If the claim knows it only by a prefix, the VM becomes a further owner. */
function noted(status: MacClaimStatus, ref: InterfaceOwner, nowMs: number, startingMs: number): MacClaimStatus {
  const isKnown = status.owners.some((owner) => isNamesake(owner, ref)) || status.owners.length >= MAX_CLAIM_OWNERS;
  const owners = isKnown ? status.owners : [...status.owners, ownerOf(ref, new Date(nowMs).toISOString())];
  const starting = new Date(nowMs + startingMs).toISOString();
  const marked = owners.map((owner) => {
    return isNamesake(owner, ref) ? { ...owner, ...domainsWith(owner, ref), starting } : owner;
  });
  return { ...status, owners: marked };
}

/** The network may lead elsewhere since the owner got the address. */
function domainsWith({ domains }: ClaimOwner, ref: InterfaceOwner): { readonly domains?: string[] } {
  return ref.domains === undefined ? {} : { domains: [...joined(domains ?? [], ref.domains)] };
}
