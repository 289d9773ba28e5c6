import { Registry } from "prom-client";
import { formatMac } from "../../src/api/mac.ts";
import type { OwnerKind } from "../../src/api/mac-claim.ts";
import { silentLog } from "../../src/kube/log.ts";
import type { AdmissionRequest } from "../../src/kube/server/admission-server.ts";
import { type Decision, UNCHANGED } from "../../src/mac-pool/admission/decision.ts";
import { REVIEWS } from "../../src/mac-pool/admission/reviews.ts";
import type { ClaimStore } from "../../src/mac-pool/claims/claim-store.ts";
import type { Caches } from "../../src/mac-pool/cluster/caches.ts";
import type { Connections } from "../../src/mac-pool/connections.ts";
import { type Listener, Replica, type Served } from "../../src/mac-pool/replica.ts";
import { Random } from "../support/random.ts";
import { Host } from "./host.ts";
import { SimClient, type SimCluster } from "./sim-client.ts";

/** What a mutation replaces to take a guard away. */
export interface Seams {
  readonly between?: (connections: Connections, caches: Caches) => Connections;
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
  /** It has ended by itself, after a restore of etcd. */
  readonly onRestored: () => void;
}

const NAMESPACE = "pool-system";
/** An API server gives a webhook ten seconds; the handler ends a little before. */
const REVIEW_TIMEOUT_MS = 9_000;
/** While draining, how often to look whether the last review is over. */
const DRAIN_LOOK_MS = 100;

/** The product's replica in a simulated process, with calls in place of its HTTPS server. */
export class SimReplica implements Listener {
  readonly port = 0;
  readonly host: Host;
  /** When an address was last tried for a request, until the answer. */
  readonly tried = new Map<string, number>();
  ready = false;
  readonly #client: SimClient;
  readonly #options: ReplicaOptions;
  readonly #stopping = new AbortController();
  #served: Served | undefined;
  #underWay = 0;

  constructor(options: ReplicaOptions) {
    const { cluster, name, seed, skewMs, alwaysLeads, seams, onRestored } = options;
    this.#options = options;
    this.host = new Host(name, cluster.scheduler, skewMs);
    const end = (): void => {
      this.kill();
      onRestored();
    };
    this.#client = new SimClient(cluster, this.host, end, alwaysLeads);
    const replica = new Replica({
      client: this.#client.asKubeClient(),
      identity: name,
      namespace: NAMESPACE,
      log: silentLog,
      metrics: new Registry(),
      clock: this.host.clock,
      random: new Random(...seed).next,
      tls: { current: () => CERTIFICATE, onChange: () => () => {} },
      listen: (served) => {
        this.#served = served;
        return this;
      },
      between: (connections, caches) => {
        const mutated = seams.between?.(connections, caches) ?? connections;
        return { ...mutated, claimsOfLedger: this.#noting(mutated.claimsOfLedger) };
      },
    });
    replica.run(this.#stopping.signal).catch((error) => {
      if (!this.#stopping.signal.aborted) throw error;
    });
  }

  get caches(): Caches {
    return this.#parts.caches;
  }

  /** In the Service's endpoints: a stopped process stays there until its probes have failed. */
  get isReady(): boolean {
    return this.host.isAlive && this.#parts.readiness() === true && !this.isStopping;
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** A webhook call. `answer` is called when the replica answers, if it ever does; `refusal` tells why it says no. */
  review(request: AdmissionRequest, answer: (decision: Decision) => void): void {
    this.host.deliver(() => {
      if (this.#options.seams.asks?.(request) === false) return answer(UNCHANGED);
      const late = new AbortController();
      const cancel = this.host.clock.after(REVIEW_TIMEOUT_MS, () => late.abort(new Error("no decision in time")));
      this.#underWay += 1;
      Promise.resolve(REVIEWS[request.kind.kind as OwnerKind](request, this.#parts.admission, late.signal))
        .then(answer, () => {})
        .finally(() => {
          this.#underWay -= 1;
          cancel();
        });
    });
  }

  cutWatches(): void {
    this.#client.cut();
  }

  /** As SIGTERM: the lease is given back, requests under way are finished. `kill` ends it later. */
  stop(): void {
    this.host.deliver(() => this.#stopping.abort(new Error("stopping")));
  }

  kill(): void {
    this.host.kill();
    this.#client.close();
  }

  listen(): Promise<void> {
    return Promise.resolve();
  }

  async drain(drainMs: number, settleMs: number): Promise<void> {
    const { clock } = this.host;
    this.ready = false;
    await clock.sleep(settleMs);
    for (let waitedMs = 0; this.#underWay > 0 && waitedMs < drainMs; waitedMs += DRAIN_LOOK_MS)
      await clock.sleep(DRAIN_LOOK_MS);
  }

  get #parts(): Served {
    if (this.#served === undefined) throw new Error("the replica serves nothing");
    return this.#served;
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
}

const CERTIFICATE = { cert: "", key: "", notAfterMs: Number.POSITIVE_INFINITY };
