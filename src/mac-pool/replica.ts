import type { Registry } from "prom-client";
import type { MACClaim } from "../api/mac-claim.ts";
import { SYSTEM_NAMESPACE } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { LeaderElector } from "../kube/leader/leader-election.ts";
import type { Log } from "../kube/log.ts";
import type { CertificateSource } from "../kube/server/certificate-source.ts";
import { ClaimLedger } from "./admission/claim-ledger.ts";
import type { AdmissionParts } from "./admission/decision.ts";
import { RunExclusively } from "./admission/run-exclusively.ts";
import { StartTimes } from "./admission/start-times.ts";
import { statusOf } from "./claims/claim.ts";
import { meetingOwners } from "./claims/layer2-domain.ts";
import type { LifecycleStep } from "./claims/lifecycle.ts";
import { startingMs } from "./claims/limits.ts";
import type { ObjectReference } from "./claims/owner.ts";
import { sharedByOwners, UNJUDGED } from "./claims/refusals.ts";
import { Caches } from "./cluster/caches.ts";
import { LiveReads } from "./cluster/live-reads.ts";
import { type Connections, connect } from "./connections.ts";
import { Adoption } from "./controllers/adoption.ts";
import { ClaimController } from "./controllers/claim-controller.ts";
import { CollisionController } from "./controllers/collision-controller.ts";
import { FinalizerController } from "./controllers/finalizer-controller.ts";
import { aborted } from "./controllers/following.ts";
import { HostConflicts } from "./controllers/host-conflicts.ts";
import { PoolStatusController } from "./controllers/pool-status.ts";
import { SeenElsewhere } from "./controllers/seen-elsewhere.ts";
import { PoolMetrics } from "./metrics.ts";
import { regardingOf } from "./objects/kinds.ts";

export const LEASE_NAME = "kubemacpool-mac-pool";
const CONTROLLER = "macpool.network.kubevirt.io/manager";

/** After SIGTERM: time for endpoints and API servers to learn that this replica ends, then for requests under way. */
const SETTLE_MS = 3_000;
const DRAIN_MS = 15_000;

export interface ReplicaOptions {
  readonly client: KubeClient;
  /**
   * For the work of the elected leader, which must not wait behind admission: claims would stay pending, and the lease be
   * lost, for as long as a burst lasts. The same client unless given.
   */
  readonly leaderClient?: KubeClient;
  /** Unique among the replicas. */
  readonly identity: string;
  /** Where the Lease lives. */
  readonly namespace: string;
  readonly tls: CertificateSource & {
    /** Why every caller is refused, or soon will be. */
    readonly problem?: string | undefined;
  };
  /** Makes what requests come in by: an HTTPS server. */
  readonly listen: (served: Served) => Listener;
  /** Puts something between the replica's parts and the cluster. The simulation takes guards away with it. */
  readonly between?: (connections: Connections, caches: Caches) => Connections;
  readonly log: Log;
  readonly metrics: Registry;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly settleMs?: number;
  readonly lease?: {
    readonly leaseDurationMs: number;
    readonly renewDeadlineMs: number;
    readonly retryPeriodMs: number;
  };
}

/** What a replica offers to those who call it. */
export interface Served {
  readonly admission: AdmissionParts;
  readonly caches: Caches;
  readonly metrics: PoolMetrics;
  readonly clock: Clock;
  /** True while requests are served; what is missing otherwise. */
  readonly readiness: () => true | string;
}

export interface Listener {
  readonly port: number;
  /** Set once the replica can answer; `drain` takes it back. */
  ready: boolean;
  listen(): Promise<unknown>;
  /** Resolves when the last request is over. */
  drain(drainMs: number, settleMs: number): Promise<void>;
}

/** One replica of the MAC pool: caches, webhooks and inspection always, the controllers while it is the leader. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #clock: Clock;
  readonly #caches: Caches;
  readonly #metrics: PoolMetrics;
  readonly #elector: LeaderElector;
  readonly #leaderClient: KubeClient;
  readonly #connections: Connections;
  readonly #events: EventRecorder;
  readonly #listener: Listener;
  #failure: unknown;

  constructor(options: ReplicaOptions) {
    const { client, log, namespace, identity } = options;
    this.#options = options;
    const leaderClient = options.leaderClient ?? client;
    this.#leaderClient = leaderClient;
    this.#clock = options.clock ?? systemClock;
    const clock = this.#clock;
    const random = options.random === undefined ? {} : { random: options.random };
    const excludedNamespaces = [SYSTEM_NAMESPACE, namespace];
    this.#caches = new Caches({ client, log, metrics: options.metrics, clock, ...random, excludedNamespaces });
    const direct = connect({ client, leaderClient }, this.#caches, clock);
    this.#connections = options.between?.(direct, this.#caches) ?? direct;
    const notAfterMs = (): number | undefined => options.tls.current()?.notAfterMs;
    this.#metrics = new PoolMetrics(options.metrics, this.#caches.index, notAfterMs, () => this.isLeader);
    this.#elector = new LeaderElector({
      client: leaderClient,
      namespace,
      name: LEASE_NAME,
      identity,
      log,
      clock,
      onReachable: (relist) => this.#caches.retryNow(relist),
      ...random,
      ...options.lease,
    });
    this.#events = this.#eventsBy(client);
    const readiness = (): true | string => this.readiness();
    const admission = this.#admission(this.#connections);
    this.#listener = options.listen({ admission, caches: this.#caches, metrics: this.#metrics, clock, readiness });
  }

  get isLeader(): boolean {
    return this.#elector.isLeader;
  }

  /** Port of the listener once `run` has started it. */
  get port(): number {
    return this.#listener.port;
  }

  get hasSynced(): boolean {
    return this.#caches.hasSynced;
  }

  /** True while requests are served; what is missing otherwise. */
  readiness(): true | string {
    if (this.#options.tls.current() === undefined) return "no serving certificate yet";
    if (!this.#caches.hasSynced) return "caches are being filled";
    return this.#listener.ready || "not serving";
  }

  /** Runs until the signal aborts, then drains and resolves. Throws when a part ends that must not. */
  async run(signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const stopped = AbortSignal.any([signal, failed.signal]);
    const startMs = this.#clock.monotonicMs();
    await this.#listener.listen();
    const running = new AbortController();
    const parts = [
      this.#caches.run(running.signal),
      this.#elector.run(stopped, (leaderSignal) => this.#lead(leaderSignal)),
      this.#serveOnceSynced(startMs, stopped),
    ];
    for (const part of parts) {
      part.catch((error) => {
        if (stopped.aborted) return;
        this.#failure = error;
        failed.abort(error);
      });
    }
    await aborted(stopped);
    // Until the last request is over, requests are answered from live caches.
    await this.#listener.drain(DRAIN_MS, this.#options.settleMs ?? SETTLE_MS);
    running.abort(stopped.reason);
    await Promise.allSettled(parts);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #serveOnceSynced(startMs: number, signal: AbortSignal): Promise<void> {
    await this.#caches.whenSynced(signal);
    const tookMs = this.#clock.monotonicMs() - startMs;
    this.#metrics.synced(tookMs);
    this.#options.log.info({ claims: this.#caches.index.claimCount, tookMs: Math.round(tookMs) }, "caches are filled");
    this.#listener.ready = true;
  }

  #eventsBy(client: KubeClient): EventRecorder {
    const { identity: instance, log } = this.#options;
    return new EventRecorder({ client, controller: CONTROLLER, instance, log, clock: this.#clock });
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { log, metrics, random, tls } = this.#options;
    const client = this.#leaderClient;
    const events = this.#eventsBy(client);
    const shared = { caches: this.#caches, clock: this.#clock, log, metrics, ...(random && { random }) };
    const reads = new LiveReads(client, this.#clock, signal);
    const adoption = new Adoption({
      ...shared,
      onProgress: (pool, progress) => {
        this.#metrics.adopting(pool, progress);
        pools.refresh();
      },
    });
    const claims = new ClaimController({
      ...shared,
      adoption,
      store: this.#connections.claimsOfController,
      clock: this.#connections.controllerClock,
      liveOwners: (mac, claim, refs) => this.#connections.liveOwners(reads, mac, claim, refs),
      hasCome: this.#connections.hasCome,
      onStep: (step, before) => {
        if (step.action === "delete" && step.isLeak) this.#metrics.leaked();
        this.#reportShared(step, before, events);
      },
    });
    const pools = new PoolStatusController({
      ...shared,
      client,
      events,
      adoption: (pool) => adoption.progress(pool),
      servingProblem: () => tls.problem,
    });
    const unsubscribe = tls.onChange(() => pools.refresh());
    signal.addEventListener("abort", unsubscribe, { once: true });
    const collisions = new CollisionController({
      ...shared,
      events,
      onCollision: (mac, refs) => this.#metrics.collided(mac, refs),
    });
    const finalizers = new FinalizerController({ ...shared, client });
    const hosts = new HostConflicts({ caches: this.#caches, events });
    const onCount = (addresses: number): void => this.#metrics.seenElsewhere(addresses);
    const elsewhere = new SeenElsewhere({ caches: this.#caches, events, onCount });
    const controllers = [claims, pools, collisions, finalizers, hosts, elsewhere];
    await Promise.all(controllers.map((controller) => controller.run(signal)));
  }

  /** Reports several owners that were not admitted together: they existed before the pool, or were written without it. */
  #reportShared(step: LifecycleStep, before: MACClaim | undefined, events: EventRecorder): void {
    if (step.action !== "create" && step.action !== "update") return;
    const meeting = (claim: MACClaim) =>
      meetingOwners(statusOf(claim).owners.filter(this.#caches.isManagedOwner), this.#caches.networks.cached);
    const owners = meeting(step.claim);
    if (owners.length < 2 || (before !== undefined && owners.length <= meeting(before).length)) return;
    for (const owner of owners.map((each) => this.#caches.seenAs(each, step.claim))) {
      const text = sharedByOwners(step.claim.spec.mac, owners, owner.namespace);
      events.event(regardingOf(owner), "Warning", "MACShared", text);
    }
  }

  /** What reviews work with. */
  #admission(connections: Connections): AdmissionParts {
    const { random, log } = this.#options;
    const { index, claims } = this.#caches;
    const { objectsListing, networks } = connections;
    const shared = { clock: this.#clock, objectsListing, networks, isAwaited: this.#caches.isAwaited };
    const ledger = new ClaimLedger({
      ...shared,
      store: connections.claimsOfLedger,
      index,
      random: random ?? Math.random,
      policyIn: connections.policyIn,
      addressesOfInterface: connections.addressesOfInterface,
      log,
      onGranted: (kind, origin) => this.#metrics.allocated(kind, origin),
    });
    const times = new StartTimes({
      clock: this.#clock,
      startingMs: () => startingMs(index.pendingMs),
      ownersOf: (claim) => claims.get(claim)?.status?.owners ?? [],
    });
    const see = ({ metadata, status }: MACClaim, old?: MACClaim): void =>
      times.see(metadata.name ?? "", status?.owners, old?.status?.owners);
    claims.on({ add: (claim) => see(claim), update: see });
    const starts = new RunExclusively({
      ...shared,
      store: connections.claimsOfStarts,
      isRunning: connections.isRunning,
      isReceiver: connections.isReceiver,
      isManaged: this.#caches.isManagedOwner,
      times,
      startingMs: () => startingMs(index.pendingMs),
    });
    const { namespaces, hasReceived, policyIn } = connections;
    const { ownersOf } = this.#caches;
    const onUnjudged = (vm: ObjectReference): void => {
      this.#metrics.unjudged();
      this.#events.event(regardingOf(vm), "Warning", "MACStartUnjudged", UNJUDGED);
    };
    const macsOfMachine = { cached: this.#caches.macsOfMachine, live: connections.macsOfMachine };
    const reads = { namespaces, policyIn, ownersOf, hasReceived, macsOfMachine, networks };
    return { ledger, starts, index, ...reads, onUnjudged, log };
  }
}
