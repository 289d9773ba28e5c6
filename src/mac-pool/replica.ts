import type { Registry } from "prom-client";
import { distinctOwners, type MACClaim } from "../api/mac-claim.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { type CertificateSource, HttpServer } from "../kube/http/server.ts";
import { LeaderElector } from "../kube/leader/leader-election.ts";
import type { Log } from "../kube/log.ts";
import { Caches } from "./caches.ts";
import { ClaimController } from "./controllers/claim-controller.ts";
import { CollisionController } from "./controllers/collision-controller.ts";
import { PoolStatusController } from "./controllers/pool-status.ts";
import { statusOf } from "./core/claim.ts";
import type { LifecycleStep } from "./core/lifecycle.ts";
import { startingMs } from "./core/limits.ts";
import { sharedByHolders } from "./core/refusals.ts";
import { Access } from "./inspection/access.ts";
import { Queries } from "./inspection/queries.ts";
import { routeInspection } from "./inspection/rest.ts";
import { ClaimLedger } from "./ledger/claim-ledger.ts";
import { apiClaimStore, type ClaimStore } from "./ledger/claim-store.ts";
import { readEvidence } from "./ledger/live-evidence.ts";
import { LiveReads } from "./ledger/live-reads.ts";
import { isRunning } from "./ledger/running-owner.ts";
import { StartGate } from "./ledger/start-gate.ts";
import { PoolMetrics } from "./metrics.ts";
import { regardingOf } from "./objects/kinds.ts";
import { namespaceLabels } from "./webhooks/namespace-labels.ts";
import { routeWebhooks } from "./webhooks/routes.ts";

export const LEASE_NAME = "kubemacpool-mac-pool";
/** Objects here are never managed: the pool must not stand in the way of what it needs itself. */
const ALWAYS_EXCLUDED = ["kube-system"];

/** After SIGTERM: endpoints and API servers learn that this replica goes, then requests under way are finished. */
const SETTLE_MS = 3_000;
const DRAIN_MS = 15_000;

export interface ReplicaOptions {
  readonly client: KubeClient;
  /** Unique among the replicas. */
  readonly identity: string;
  /** Where the Lease lives. */
  readonly namespace: string;
  readonly httpsPort: number;
  readonly host?: string;
  readonly tls: CertificateSource;
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

/** One replica of the MAC pool: caches, webhooks and inspection always, the controllers while it is the leader. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #clock: Clock;
  readonly #caches: Caches;
  readonly #store: ClaimStore;
  readonly #metrics: PoolMetrics;
  readonly #elector: LeaderElector;
  readonly #server: HttpServer;
  #failure: unknown;

  constructor(options: ReplicaOptions) {
    const { client, log, namespace, identity } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const excludedNamespaces = [...ALWAYS_EXCLUDED, namespace];
    this.#caches = new Caches({ client, log, metrics: options.metrics, excludedNamespaces });
    this.#store = apiClaimStore(client);
    this.#metrics = new PoolMetrics(options.metrics, this.#caches.index, () => options.tls.current()?.notAfterMs);
    this.#elector = new LeaderElector({
      client,
      namespace,
      name: LEASE_NAME,
      identity,
      log,
      clock: this.#clock,
      ...options.lease,
    });
    this.#server = this.#serverWithRoutes();
  }

  get isLeader(): boolean {
    return this.#elector.isLeader;
  }

  /** Port of the HTTPS server once `run` has started it. */
  get port(): number {
    return this.#server.port;
  }

  get hasSynced(): boolean {
    return this.#caches.hasSynced;
  }

  /** True while requests are served; what is missing otherwise. */
  readiness(): true | string {
    if (this.#options.tls.current() === undefined) return "no serving certificate yet";
    if (!this.#caches.hasSynced) return "caches are being filled";
    return this.#server.ready || "not serving";
  }

  /** Runs until the signal aborts, then drains and resolves. Throws when a part ends that must not. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = new AbortController();
    const stop = (): void => stopped.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const startMs = this.#clock.monotonicMs();
    await this.#server.listen();
    const running = new AbortController();
    const parts = [
      this.#caches.run(running.signal),
      this.#elector.run(stopped.signal, (leaderSignal) => this.#lead(leaderSignal)),
      this.#serveOnceSynced(startMs, stopped.signal),
    ];
    for (const part of parts) {
      part.catch((error) => {
        if (stopped.signal.aborted) return;
        this.#failure = error;
        stopped.abort(error);
      });
    }
    await aborted(stopped.signal);
    // Requests go on being answered, from live caches, until the last one is over.
    await this.#server.drain(DRAIN_MS, this.#options.settleMs ?? SETTLE_MS);
    running.abort(stopped.signal.reason);
    await Promise.allSettled(parts);
    signal.removeEventListener("abort", stop);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #serveOnceSynced(startMs: number, signal: AbortSignal): Promise<void> {
    await this.#caches.whenSynced(signal);
    const tookMs = this.#clock.monotonicMs() - startMs;
    this.#metrics.synced(tookMs);
    this.#options.log.info({ claims: this.#caches.index.claimCount, tookMs: Math.round(tookMs) }, "caches are filled");
    this.#server.ready = true;
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { client, identity, log } = this.#options;
    const events = new EventRecorder({
      client,
      controller: "macpool.network.kubevirt.io/manager",
      instance: identity,
      log,
    });
    const shared = { caches: this.#caches, clock: this.#clock, log };
    const reads = new LiveReads(client, this.#clock, signal);
    const claims = new ClaimController({
      ...shared,
      store: this.#store,
      evidence: (mac, parties) => readEvidence(reads, mac, parties, this.#caches.wasAdmitted),
      onStep: (step, before) => {
        const expired = before !== undefined && statusOf(before).phase === "Pending";
        if (step.action === "delete" && expired) this.#metrics.leaked();
        this.#reportShared(step, before, events);
      },
    });
    const pools = new PoolStatusController({ ...shared, client, events });
    const collisions = new CollisionController({
      ...shared,
      events,
      onCollision: (mac, parties) => this.#metrics.collided(mac, parties),
    });
    await Promise.all([claims.run(signal), pools.run(signal), collisions.run(signal)]);
  }

  /** Holders that nobody admitted beside each other: they were there before the pool, or were written without it. */
  #reportShared(step: LifecycleStep, before: MACClaim | undefined, events: EventRecorder): void {
    if (step.action !== "create" && step.action !== "update") return;
    const owners = distinctOwners(statusOf(step.claim).owners);
    if (owners.length < 2) return;
    if (before !== undefined && owners.length <= distinctOwners(statusOf(before).owners).length) return;
    const message = sharedByHolders(step.claim.spec.mac, owners);
    for (const owner of owners) events.event(regardingOf(owner), "Warning", "MACShared", message);
  }

  #serverWithRoutes(): HttpServer {
    const { client, log, httpsPort, host, tls } = this.#options;
    const server = new HttpServer({ port: httpsPort, ...(host === undefined ? {} : { host }), tls, log });
    const { index } = this.#caches;
    const ledger = new ClaimLedger({
      store: this.#store,
      index,
      clock: this.#clock,
      random: this.#options.random ?? Math.random,
      log,
      onGranted: (kind, origin) => this.#metrics.allocated(kind, origin),
    });
    const namespaces = namespaceLabels(client, this.#caches.namespaces);
    const starts = new StartGate({
      store: this.#store,
      isRunning: (owner, mac, signal) => isRunning(client, owner, mac, signal),
      clock: this.#clock,
      startingMs: () => startingMs(index.pendingMs),
    });
    const isReceiver = (namespace: string, name: string): boolean => this.#caches.isReceiver(namespace, name);
    const parts = { ledger, starts, index, namespaces, isReceiver, log };
    routeWebhooks(server, parts, this.#metrics, this.#clock);
    routeInspection(server, new Queries(this.#caches), new Access(client));
    server.route("GET", "/healthz", () => ({ status: 200, body: "ok\n" }));
    server.route("GET", "/readyz", () => {
      const readiness = this.readiness();
      return readiness === true ? { status: 200, body: "ok\n" } : { status: 503, body: `${readiness}\n` };
    });
    return server;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
