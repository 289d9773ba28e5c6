import { formatMac } from "../../src/api/mac.ts";
import type { AdmissionRequest } from "../../src/kube/admission/admission-server.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Clock } from "../../src/kube/clock.ts";
import type { EventRecorder } from "../../src/kube/events/event-recorder.ts";
import { LeaderElector } from "../../src/kube/leader/leader-election.ts";
import { silentLog } from "../../src/kube/log.ts";
import { Caches } from "../../src/mac-pool/caches.ts";
import { ClaimController, type ClaimControllerOptions } from "../../src/mac-pool/controllers/claim-controller.ts";
import { PoolStatusController } from "../../src/mac-pool/controllers/pool-status.ts";
import { startingMs } from "../../src/mac-pool/core/limits.ts";
import { ClaimLedger } from "../../src/mac-pool/ledger/claim-ledger.ts";
import { apiClaimStore, type ClaimStore } from "../../src/mac-pool/ledger/claim-store.ts";
import { readEvidence } from "../../src/mac-pool/ledger/live-evidence.ts";
import { LiveReads } from "../../src/mac-pool/ledger/live-reads.ts";
import { isRunning } from "../../src/mac-pool/ledger/running-owner.ts";
import { StartGate, type StartGateOptions } from "../../src/mac-pool/ledger/start-gate.ts";
import { type AdmissionParts, type Decision, UNCHANGED } from "../../src/mac-pool/webhooks/decision.ts";
import { reviewGuest } from "../../src/mac-pool/webhooks/guest-review.ts";
import { type NamespaceLabels, namespaceLabels } from "../../src/mac-pool/webhooks/namespace-labels.ts";
import { reviewPod } from "../../src/mac-pool/webhooks/pod-review.ts";
import { Host } from "./host.ts";
import { Random } from "./random.ts";
import { SimClient, type SimCluster } from "./sim-client.ts";

/** What a mutation replaces to take a guard away; the product itself has no hooks for it. */
export interface Seams {
  readonly store?: (store: ClaimStore) => ClaimStore;
  /** The store as the ledger alone sees it. */
  readonly ledgerStore?: (store: ClaimStore) => ClaimStore;
  readonly evidence?: (live: ClaimControllerOptions["evidence"], caches: Caches) => ClaimControllerOptions["evidence"];
  readonly controllerClock?: (clock: Clock) => Clock;
  readonly starts?: (options: StartGateOptions) => StartGateOptions;
  readonly namespaces?: (namespaces: NamespaceLabels) => NamespaceLabels;
  /** Which requests the webhook is called for at all. */
  readonly asks?: (request: AdmissionRequest) => boolean;
}

export interface ReplicaOptions {
  readonly cluster: SimCluster;
  readonly name: string;
  readonly seed: readonly number[];
  readonly skewMs: number;
  /** Leads whatever the Lease says, as a leader that does not know yet that it is not one any more. */
  readonly alwaysLeads: boolean;
  readonly seams: Seams;
}

const NAMESPACE = "pool-system";
/** An API server gives a webhook ten seconds; the handler ends a little before. */
const REVIEW_TIMEOUT_MS = 9_000;

/** The production parts of one replica, wired as in src/mac-pool/replica.ts, without its HTTP server. */
export class SimReplica {
  readonly host: Host;
  readonly caches: Caches;
  /** When an address was last tried for a request, until the answer. */
  readonly tried = new Map<string, number>();
  readonly #client: SimClient;
  readonly #parts: AdmissionParts;
  readonly #options: ReplicaOptions;
  readonly #random: Random;
  readonly #running = new AbortController();
  readonly #leading = new AbortController();

  constructor(options: ReplicaOptions) {
    const { cluster, name, seed, skewMs } = options;
    this.#options = options;
    this.#random = new Random(...seed);
    this.host = new Host(name, cluster.scheduler, skewMs);
    this.#client = new SimClient(cluster, this.host);
    const client = this.#client.asKubeClient();
    const { clock } = this.host;
    const random = this.#random.next;
    this.caches = new Caches({ client, log: silentLog, clock, random, excludedNamespaces: [NAMESPACE] });
    const store = this.#store(client);
    const { index } = this.caches;
    const ledger = new ClaimLedger({
      store: this.#noting(options.seams.ledgerStore?.(store) ?? store),
      index,
      clock,
      random,
      log: silentLog,
      onGranted: () => {},
    });
    const judging: StartGateOptions = {
      store,
      isRunning: (owner, mac, signal) => isRunning(client, owner, mac, signal),
      clock,
      startingMs: () => startingMs(index.pendingMs),
    };
    const starts = new StartGate(options.seams.starts?.(judging) ?? judging);
    const isReceiver = (namespace: string, name: string): boolean => this.caches.isReceiver(namespace, name);
    const labels = namespaceLabels(client, this.caches.namespaces);
    const namespaces = options.seams.namespaces?.(labels) ?? labels;
    this.#parts = { ledger, starts, isReceiver, index, namespaces, log: silentLog };
    this.#start(client, store);
  }

  /** In the Service's endpoints: a stopped process stays there until its probes have failed. */
  get isReady(): boolean {
    return this.host.isAlive && this.caches.hasSynced && !this.#leading.signal.aborted;
  }

  get isStopping(): boolean {
    return this.#leading.signal.aborted;
  }

  /** A webhook call. `answer` is called when the replica answers, if it ever does; `refusal` tells why it says no. */
  review(request: AdmissionRequest, answer: (decision: Decision) => void): void {
    this.host.deliver(() => {
      if (this.#options.seams.asks?.(request) === false) return answer(UNCHANGED);
      const late = new AbortController();
      const cancel = this.host.clock.after(REVIEW_TIMEOUT_MS, () => late.abort(new Error("no decision in time")));
      const kind = request.kind.kind;
      const review =
        kind === "Pod"
          ? reviewPod(request, this.#parts, late.signal)
          : reviewGuest(kind as "VirtualMachine" | "VirtualMachineInstance", request, this.#parts, late.signal);
      Promise.resolve(review)
        .then(answer, () => {})
        .finally(cancel);
    });
  }

  cutWatches(): void {
    this.#client.cut();
  }

  /** As SIGTERM: the lease is given back, requests under way are finished. `kill` ends it later. */
  stop(): void {
    this.host.deliver(() => this.#leading.abort(new Error("stopping")));
  }

  kill(): void {
    this.host.kill();
    this.#client.close();
  }

  #store(client: KubeClient): ClaimStore {
    const store = apiClaimStore(client);
    return this.#options.seams.store?.(store) ?? store;
  }

  #noting(store: ClaimStore): ClaimStore {
    const { scheduler } = this.#options.cluster;
    const noted = async <T>(mac: string, work: Promise<T>): Promise<T> => {
      this.tried.set(mac, Number.POSITIVE_INFINITY);
      try {
        return await work;
      } finally {
        this.tried.set(mac, scheduler.nowMs);
      }
    };
    return {
      create: (claim, signal) => noted(claim.spec.mac, store.create(claim, signal)),
      update: (claim, signal) => noted(claim.spec.mac, store.update(claim, signal)),
      read: (mac, signal) => noted(formatMac(mac), store.read(mac, signal)),
      remove: (claim, signal) => store.remove(claim, signal),
    };
  }

  #start(client: KubeClient, store: ClaimStore): void {
    const { clock, name } = this.host;
    const run = this.caches.run(this.#running.signal);
    const elected = this.#options.alwaysLeads
      ? this.#lead(client, store, this.#leading.signal)
      : new LeaderElector({
          client,
          namespace: NAMESPACE,
          name: "kubemacpool-mac-pool",
          identity: name,
          clock,
          random: this.#random.next,
        }).run(this.#leading.signal, (signal) => this.#lead(client, store, signal));
    for (const part of [run, elected]) {
      part.catch((error) => {
        if (!this.#leading.signal.aborted) throw error;
      });
    }
  }

  async #lead(client: KubeClient, store: ClaimStore, signal: AbortSignal): Promise<void> {
    const { seams } = this.#options;
    const { clock } = this.host;
    const shared = { caches: this.caches, random: this.#random.next, log: silentLog };
    const reads = new LiveReads(client, clock, signal);
    const live: ClaimControllerOptions["evidence"] = (mac, parties) =>
      readEvidence(reads, mac, parties, this.caches.wasAdmitted);
    const claims = new ClaimController({
      ...shared,
      store,
      clock: seams.controllerClock?.(clock) ?? clock,
      evidence: seams.evidence?.(live, this.caches) ?? live,
      onStep: () => {},
    });
    const events = { event: () => {} } as unknown as EventRecorder;
    const pools = new PoolStatusController({ ...shared, clock, client, events });
    await Promise.all([claims.run(signal), pools.run(signal)]);
  }
}
