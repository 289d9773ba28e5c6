/**
 * Elects one of several replicas as leader, by a Lease in the API server (client-go's times: 15/10/2 s).
 *
 * Give the signal that `lead` gets to everything that only a leader may do. It aborts when the lease is lost or can no
 * longer be proved. A process that was stopped may run for an instant before its timer fires, so a leader's writes must
 * also be conditional: by a resourceVersion, or by creating an object whose name can exist only once.
 */
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from "../client/api-error.ts";
import type { Lease } from "../client/built-in-kinds.ts";
import type { KubeClient } from "../client/client.ts";
import { RESOURCES } from "../client/resource.ts";
import { isOlder } from "../client/resource-version.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import { heldBy, type LeaseSpec, mayHold, type Observation, observe, released } from "./lease-rules.ts";

export interface LeaderElectorOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the Lease. */
  readonly name: string;
  /** Unique among the replicas: the pod's name. */
  readonly identity: string;
  /** After this time without a renewal others may take the lease. That of the holder counts where it is longer. */
  readonly leaseDurationMs?: number;
  /** How long a leader goes on without a renewal; less than the lease duration. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /**
   * Called within a second after the Lease was read again, if that had failed: the API server is back. Each replica is called
   * at another moment, because each asks for much then. `relist`: etcd may have been restored, because the Lease is gone, or
   * was not read for its duration, in which a stopped process sees nothing of a restore.
   */
  readonly onReachable?: (relist: boolean) => void;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** A stopping process has little time. Without the release the next leader waits until the lease expires. */
const RELEASE_TIMEOUT_MS = 2_000;
const REACHABLE_SPREAD_MS = 1_000;

export class LeaderElector {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #name: string;
  readonly #identity: string;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onReachable: (relist: boolean) => void;
  #observation: Observation | undefined;
  #seenVersion: string | undefined;
  /** When (monotonic) the Lease was last read. */
  #seenMs: number | undefined;
  /** The last read failed. */
  #isAway = false;
  /** Until when (monotonic) our last successful write lets us lead. */
  #leadsUntilMs: number | undefined;

  constructor(options: LeaderElectorOptions) {
    this.#client = options.client;
    this.#namespace = options.namespace;
    this.#name = options.name;
    this.#identity = options.identity;
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2_000;
    this.#onReachable = options.onReachable ?? (() => {});
    this.#log = (options.log ?? silentLog).child({ lease: `${options.namespace}/${options.name}` });
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    if (!options.identity) {
      throw new Error(
        `Leader election on ${options.namespace}/${options.name} needs an identity, such as the pod's name.`,
      );
    }
    if (this.#renewDeadlineMs >= this.#leaseDurationMs || this.#retryPeriodMs >= this.#renewDeadlineMs) {
      throw new Error("Leader election needs retryPeriodMs < renewDeadlineMs < leaseDurationMs.");
    }
  }

  /** Compares with the clock, not with a timer: false at once in a process that was stopped for too long. */
  get isLeader(): boolean {
    return this.#leadsUntilMs !== undefined && this.#clock.monotonicMs() < this.#leadsUntilMs;
  }

  /**
   * Campaigns until the signal aborts. When elected it runs `lead`; after losing the lease it campaigns again. It releases
   * the lease at the end. If `lead` returns or throws while leading, so does `run`, after releasing the lease. `lead` must
   * return once its signal aborts; until then there is no new campaign.
   */
  async run(signal: AbortSignal, lead: (leaderSignal: AbortSignal) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#acquire(signal);
      } catch (error) {
        if (signal.aborted) {
          return;
        }
        throw error;
      }
      this.#log.info({ identity: this.#identity }, "became leader");
      if (await this.#term(signal, lead)) {
        return;
      }
    }
  }

  /** One term as leader. True: over for good; false: the lease was lost or not renewed in time. */
  async #term(signal: AbortSignal, lead: (leaderSignal: AbortSignal) => Promise<void>): Promise<boolean> {
    const leadership = new AbortController();
    const stop = () => leadership.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) {
      stop();
    }
    const renewing = this.#renew(leadership.signal).then((reason) => {
      if (reason !== undefined) {
        this.#leadsUntilMs = undefined;
        this.#log.warn({ identity: this.#identity }, `no longer leader: ${reason}`);
        leadership.abort(new Error(`no longer leader: ${reason}`));
      }
      return reason !== undefined;
    });
    try {
      await lead(leadership.signal);
    } catch (error) {
      if (!leadership.signal.aborted) {
        throw error;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      leadership.abort(new Error("leading is over"));
      if (!(await renewing)) {
        await this.#release();
      }
    }
    return signal.aborted || !(await renewing);
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    for (;;) {
      if ((await this.#attempt(signal, this.#renewDeadlineMs)) === "held") {
        return;
      }
      signal.throwIfAborted();
      await this.#clock.sleep(this.#retryPeriodMs * (1 + this.#random() / 5), signal);
    }
  }

  /** Renews until it fails for too long, and returns why, or until the signal aborts. */
  async #renew(signal: AbortSignal): Promise<string | undefined> {
    while (!signal.aborted) {
      const leftMs = (this.#leadsUntilMs ?? 0) - this.#clock.monotonicMs();
      try {
        await this.#clock.sleep(Math.max(0, Math.min(this.#retryPeriodMs, leftMs)), signal);
      } catch {
        return undefined;
      }
      const remainingMs = (this.#leadsUntilMs ?? 0) - this.#clock.monotonicMs();
      if (remainingMs <= 0) {
        return `the lease was not renewed for ${this.#renewDeadlineMs / 1000} s`;
      }
      if ((await this.#attempt(signal, remainingMs)) === "other") {
        return "another replica holds the lease";
      }
    }
    return undefined;
  }

  /** One try to create, take over or renew the lease. */
  async #attempt(signal: AbortSignal, timeoutMs: number): Promise<"held" | "other" | "failed"> {
    const call = { signal, timeoutMs: Math.max(1, timeoutMs) };
    try {
      const lease = await this.#read(call);
      const nowMs = this.#clock.monotonicMs();
      this.#see(lease, nowMs);
      const spec = lease?.spec as LeaseSpec | undefined;
      this.#observation = observe(this.#observation, spec, nowMs);
      if (!mayHold(spec, this.#observation, this.#identity, this.#leaseDurationMs, nowMs)) {
        return "other";
      }
      const mine = heldBy(spec, this.#identity, this.#leaseDurationMs, new Date(this.#clock.now()));
      const written = await this.#write(lease, mine, call);
      this.#seenVersion = written.metadata.resourceVersion;
      this.#observation = observe(this.#observation, written.spec as LeaseSpec, this.#clock.monotonicMs());
      // From before the write: others count from when they see it, which is later.
      this.#leadsUntilMs = nowMs + this.#renewDeadlineMs;
      return "held";
    } catch (error) {
      if (!signal.aborted) {
        // Invalid: an update without a version met a lease that somebody else has created.
        const lostRace = isConflict(error) || isAlreadyExists(error) || isInvalid(error);
        this.#log[lostRace ? "debug" : "warn"]({ err: error }, "could not read or write the lease");
      }
      return "failed";
    }
  }

  #see(lease: Lease | undefined, nowMs: number): void {
    const before = this.#seenVersion;
    const unseenMs = nowMs - (this.#seenMs ?? nowMs);
    this.#seenVersion = lease?.metadata.resourceVersion;
    this.#seenMs = nowMs;
    if (isOlder({ resourceVersion: this.#seenVersion }, { resourceVersion: before })) {
      this.#client.restored(`Lease ${this.#namespace}/${this.#name}`);
    }
    const isGone = lease === undefined && before !== undefined;
    if (isGone) this.#log.warn("the lease is gone");
    const isLate = unseenMs > this.#leaseDurationMs;
    if (isLate) this.#log.warn({ unseenMs }, "the lease was not read for a long time");
    const relist = isGone || isLate;
    if (relist || this.#isAway) {
      this.#clock.after(this.#random() * REACHABLE_SPREAD_MS, () => this.#onReachable(relist));
    }
    this.#isAway = false;
  }

  async #read(call: { signal?: AbortSignal; timeoutMs: number }): Promise<Lease | undefined> {
    try {
      return await this.#client.get(RESOURCES.leases, { namespace: this.#namespace, name: this.#name }, call);
    } catch (error) {
      if (isNotFound(error)) {
        return undefined;
      }
      this.#isAway = true;
      throw error;
    }
  }

  /**
   * Conditional: it fails if somebody wrote in between. Without a version, an update creates a lease and never changes one.
   * RBAC can limit an update to a name, and a create not.
   */
  #write(lease: Lease | undefined, spec: LeaseSpec, call: { signal?: AbortSignal; timeoutMs: number }): Promise<Lease> {
    const known = lease ?? { metadata: { namespace: this.#namespace, name: this.#name } };
    return this.#client.update(RESOURCES.leases, { ...known, spec } as Lease, call);
  }

  async #release(): Promise<void> {
    this.#leadsUntilMs = undefined;
    try {
      const lease = await this.#read({ timeoutMs: RELEASE_TIMEOUT_MS });
      if (lease?.spec?.holderIdentity === this.#identity) {
        const spec = released(lease.spec as LeaseSpec, new Date(this.#clock.now()));
        await this.#write(lease, spec, { timeoutMs: RELEASE_TIMEOUT_MS });
        this.#log.info({ identity: this.#identity }, "released the lease");
      }
    } catch (error) {
      this.#log.warn({ err: error }, "could not release the lease; the next leader waits until it expires");
    }
  }
}
