import type { Registry } from "prom-client";
import { apiVersionOf, NODE_MACS } from "../api/kinds.ts";
import type { NodeBridge, NodeMACs, NodeMac, NodeStation } from "../api/node-macs.ts";
import { ApiError, isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Resource } from "../kube/client/resource.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { Controller } from "../kube/informer/controller.ts";
import type { Log } from "../kube/log.ts";
import type { NodeLinks } from "./node-links.ts";

/** A storm of link events, such as of a wire that comes and goes, causes at most one write in this time. */
const MIN_WRITE_INTERVAL_MS = 10_000;
/** Stations that come and go wait for so long, unless one is on both sides of its uplink. */
const STATIONS_INTERVAL_MS = 60_000;
/**
 * Where a node sees more of them, they are mostly VMs of a large cluster, which come and go all the time. A thousand nodes
 * would write 17 reports of 28 kB a second: they wait for the next report.
 */
const MAX_SOON_STATIONS = 64;
/** After a refusal, or where there is no CRD: what would help is an administrator's or the operator's work. */
const REFUSED_RETRY_MS = 60_000;
const FIELD_MANAGER = "bridge-marker";

const NODE_MACS_RESOURCE: Resource<NodeMACs> = NODE_MACS as Resource<NodeMACs>;

export interface NodeMacsPublisherOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly links: Pick<NodeLinks, "known" | "hostAddresses" | "bridges" | "stations">;
  /** How often to write without a change: somebody may have deleted or edited the object. */
  readonly refreshMs: number;
  readonly log: Log;
  readonly metrics: Registry;
  readonly clock?: Clock;
}

interface Report {
  readonly addresses: readonly NodeMac[];
  readonly bridges: readonly NodeBridge[];
  readonly stations?: readonly NodeStation[];
  readonly moreStations?: number;
}

/**
 * Reports as NodeMACs the addresses of the node's own interfaces, the settings of its bridges and the stations beyond their
 * uplinks, for MAC pools and for the lint of networks. It only writes: the object is owned by the Node and goes with it.
 * Nothing waits for it, because most clusters can do without.
 */
export class NodeMacsPublisher {
  readonly #options: NodeMacsPublisherOptions;
  readonly #clock: Clock;
  readonly #controller: Controller;
  #nodeUid: string | undefined;
  /** What was written last, without its stations, these, and when. */
  #written = "";
  #writtenStations = "";
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #reportedProblem = "";

  constructor(options: NodeMacsPublisherOptions) {
    const { log, metrics } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#controller = new Controller({
      name: "node-macs",
      log,
      metrics,
      clock: this.#clock,
      reconcile: (_key, { signal }) => this.#reconcile(signal),
    });
  }

  /** The addresses or bridges may have changed. */
  changed(): void {
    this.#controller.enqueue(this.#options.nodeName);
  }

  /** The node is there, under this UID. */
  nodeSeen(uid: string): void {
    if (this.#nodeUid === uid) return;
    this.#nodeUid = uid;
    this.changed();
  }

  /** What was written may be lost: it is written again. */
  forget(): void {
    this.#writtenAtMs = Number.NEGATIVE_INFINITY;
    this.changed();
  }

  /** Runs until the signal aborts. After that it writes nothing. */
  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  /** The node reports nothing any more. Call it after `run`. */
  async withdraw(signal: AbortSignal): Promise<void> {
    if (this.#written === "" || this.#nodeUid === undefined) return;
    try {
      await this.#apply(this.#nodeUid, { addresses: [], bridges: [] }, signal);
    } catch (error) {
      if (!isLasting(error)) throw error;
      this.#report(error);
    }
  }

  async #reconcile(signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { links, refreshMs, log } = this.#options;
    const uid = this.#nodeUid;
    if (!links.known || uid === undefined) return {};
    const { addresses, omitted } = links.hostAddresses();
    const { stations, more } = links.stations();
    const settled = { addresses, bridges: links.bridges() };
    const report: Report = {
      ...settled,
      ...(stations.length === 0 ? {} : { stations }),
      ...(more === 0 ? {} : { moreStations: more }),
    };
    const wanted = JSON.stringify([uid, settled, stations.filter(({ lastFlap }) => lastFlap).map(placeOf)]);
    const wantedStations = JSON.stringify(stations.map(placeOf));
    const isSoon = wantedStations !== this.#writtenStations && stations.length <= MAX_SOON_STATIONS;
    const everyMs = isSoon ? Math.min(refreshMs, STATIONS_INTERVAL_MS) : refreshMs;
    const restMs = this.#writtenAtMs + everyMs - this.#clock.monotonicMs();
    if (wanted === this.#written && restMs > 0) return { requeueAfterMs: restMs };
    const pauseMs = this.#triedAtMs + MIN_WRITE_INTERVAL_MS - this.#clock.monotonicMs();
    if (pauseMs > 0) await this.#clock.sleep(pauseMs, signal);
    this.#triedAtMs = this.#clock.monotonicMs();
    try {
      await this.#apply(uid, report, signal);
    } catch (error) {
      if (!isLasting(error)) throw error;
      this.#report(error);
      return { requeueAfterMs: REFUSED_RETRY_MS };
    }
    this.#reportedProblem = "";
    if (wanted !== this.#written) log.info({ ...settled, omitted }, "reported the node's MAC addresses and bridges");
    this.#written = wanted;
    this.#writtenStations = wantedStations;
    this.#writtenAtMs = this.#clock.monotonicMs();
    return { requeueAfterMs: refreshMs };
  }

  #apply(uid: string, report: Report, signal: AbortSignal): Promise<NodeMACs> {
    const { client, nodeName: name } = this.#options;
    const metadata = { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] };
    const object = { apiVersion: apiVersionOf(NODE_MACS), kind: NODE_MACS.kind, metadata, ...report };
    return client.apply(NODE_MACS_RESOURCE, object, { fieldManager: FIELD_MANAGER, force: true, signal });
  }

  /** Each refusal once. Without the CRD there is no pool that would want to know. */
  #report(error: ApiError): void {
    if (error.message === this.#reportedProblem) return;
    this.#reportedProblem = error.message;
    const { log } = this.#options;
    if (isNotFound(error)) log.debug("no CRD for NodeMACs: the node's MAC addresses are not reported");
    else log.warn({ err: error }, "the node's MAC addresses can't be reported, so MAC pools do not know them");
  }
}

/** A station without its times, which change no report by themselves. */
function placeOf({ mac, bridge, uplink, vlan }: NodeStation): unknown[] {
  return [mac, bridge, uplink, vlan];
}

/** No CRD, no right, or what the CRD refuses: trying again at once would not help. */
function isLasting(error: unknown): error is ApiError {
  return error instanceof ApiError && [403, 404, 422].includes(error.status);
}
