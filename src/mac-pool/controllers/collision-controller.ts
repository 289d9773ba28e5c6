import { createHash } from "node:crypto";
import type { Registry } from "prom-client";
import { parseMac } from "../../api/mac.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import { Controller, type ReconcileResult } from "../../kube/informer/controller.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { textAt } from "../../kube/json-path.ts";
import type { Log } from "../../kube/log.ts";
import {
  alarmingObjects,
  collisionMessage,
  countObjects,
  meetingObjects,
  objectKeyOf,
  type RunningObject,
} from "../claims/collision.ts";
import type { Caches } from "../cluster/caches.ts";
import { regardingOf } from "../objects/kinds.ts";
import { macsOfRunningInstance, macsOfRunningPod } from "../objects/running.ts";
import { onManagementChange, whileFollowing } from "./following.ts";

const COLLISION_EVENT = "MACCollision";

/** However many networks change, all addresses are compared no more often than this. */
const INTERVAL_MS = 500;

export interface CollisionControllerOptions {
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** For the delays between tries. */
  readonly random?: () => number;
  readonly log: Log;
  readonly metrics: Registry;
  /** Called for each address that collides, with the number of objects; 0 once it does not any more. */
  readonly onCollision: (mac: string, refs: number) => void;
}

/**
 * Raises the alarm about addresses that several objects have at run time, whatever their claims say: guests can change theirs,
 * and policies can allow it. Run by the elected leader; what it has found ends with it, the next leader finds it again.
 */
export class CollisionController {
  readonly #options: CollisionControllerOptions;
  readonly #controller: Controller;
  /** Address -> a digest of its objects when they were last reported: any number of them may have any number of addresses. */
  readonly #known = new Map<string, string>();
  #isScheduled = false;

  constructor(options: CollisionControllerOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "collisions",
      clock: options.clock,
      ...(options.random && { random: options.random }),
      log: options.log,
      metrics: options.metrics,
      reconcile: (mac, { signal }) => this.#compare(mac, signal),
    });
  }

  /** Runs until the signal aborts. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches } = this.#options;
    const stops = [
      this.#follow(caches.instances, macsOfRunningInstance),
      this.#follow(caches.pods, macsOfPodWithNode),
      onManagementChange(caches, (inside) => this.#enqueueInside(inside)),
      ...this.#followNetworks(),
    ];
    try {
      await whileFollowing(caches, signal, stops, () => this.#controller.run(signal));
    } finally {
      for (const mac of this.#known.keys()) this.#options.onCollision(mac, 0);
      this.#known.clear();
    }
  }

  /** An update can end a collision without changing an address: a migration, a label. */
  #follow(informer: Informer<KubeObject>, macsOf: (object: KubeObject) => readonly string[]): () => void {
    const enqueue = (object: KubeObject): void => {
      for (const mac of macsOf(object)) this.#controller.enqueue(mac);
    };
    return informer.on({
      add: enqueue,
      update: (object, old) => {
        enqueue(old);
        enqueue(object);
      },
      delete: enqueue,
    });
  }

  /** A pool whose conflict scope changes, and a network that leads elsewhere, change who can meet. */
  #followNetworks(): (() => void)[] {
    const { pools, networks } = this.#options.caches;
    const all = (): void => this.#enqueueAllSoon();
    return [
      pools.on({
        update: ({ spec }, old) => {
          if (spec?.conflictScope !== old.spec?.conflictScope) all();
        },
      }),
      networks.on({ add: all, update: all, delete: all }),
    ];
  }

  #enqueueAllSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.clock.after(INTERVAL_MS, () => {
      this.#isScheduled = false;
      this.#enqueueInside(() => true);
    });
  }

  /** A namespace that becomes managed, or is not any more, changes which objects count. */
  #enqueueInside(inside: (object: KubeObject) => boolean): void {
    const { instances, pods } = this.#options.caches;
    const macs = [
      ...instances.list().filter(inside).flatMap(macsOfRunningInstance),
      ...pods.list().filter(inside).flatMap(macsOfPodWithNode),
    ];
    for (const mac of macs) this.#controller.enqueue(mac);
  }

  async #compare(text: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { caches, events, onCollision, log } = this.#options;
    const mac = parseMac(text);
    if (mac === undefined) return {};
    const running = caches.running(mac);
    const domainsOf = running.length > 1 ? await caches.networks.of(running, signal) : () => undefined;
    const meeting = alarmingObjects(running).map((refs) => meetingObjects(refs, refs.map(domainsOf)));
    // What only objects that opted out have in common is theirs.
    const isAlarm = (refs: readonly RunningObject[]): boolean =>
      countObjects(refs) > 1 && refs.some(({ isManaged }) => isManaged);
    const refs = meeting.find(isAlarm) ?? [];
    const count = countObjects(refs);
    if (count <= 1) {
      if (this.#known.delete(text)) {
        onCollision(text, 0);
        log.info({ mac: text }, "MAC collision ended");
      }
      return {};
    }
    onCollision(text, count);
    const named = refs.map(objectKeyOf).sort().join(", ");
    const digest = createHash("sha256").update(named).digest("base64");
    if (this.#known.get(text) === digest) return {};
    this.#known.set(text, digest);
    log.warn({ mac: text, parties: named }, "MAC collision");
    for (const [namespace, inside] of Map.groupBy(refs, (ref) => ref.namespace)) {
      const message = collisionMessage(mac, refs, namespace);
      for (const ref of inside) events.event(regardingOf(ref), "Warning", COLLISION_EVENT, message);
    }
    return {};
  }
}

/** A pod without a node meets nobody, whatever it lists. */
const macsOfPodWithNode = (pod: KubeObject): readonly string[] =>
  textAt(pod, "spec", "nodeName") === "" ? [] : macsOfRunningPod(pod);
