/**
 * Events (events.k8s.io/v1) about objects, for people who run `kubectl describe`. `event` returns at once and never throws:
 * an event that cannot be written is dropped, repeated ones become one Event with a count.
 */
import type { KubeEvent } from "../client/built-in-kinds.ts";
import type { KubeClient } from "../client/client.ts";
import { type KubeObject, RESOURCES } from "../client/resource.ts";
import { type Clock, systemClock } from "../clock.ts";
import { rfc3339Micro } from "../conditions.ts";
import { type Log, silentLog } from "../log.ts";
import { shortText } from "../short-text.ts";
import { EventSeries } from "./event-series.ts";

/** The object of an event, or what is known of it. */
export interface Regarding {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Who reports: `networkaddonsoperator.network.kubevirt.io/operator`. */
  readonly controller: string;
  /** The instance: the pod's name. */
  readonly instance: string;
  readonly log?: Log;
  readonly clock?: Clock;
}

/** Namespace of events about objects that have none, as the API requires it. */
const CLUSTER_SCOPE_NAMESPACE = "default";
const MAX_NOTE_CHARS = 1024;
/** Most events that wait to be written; more are dropped. */
const MAX_PENDING = 200;
const WRITE_TIMEOUT_MS = 10_000;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #series: EventSeries;
  #pending = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#clock = options.clock ?? systemClock;
    this.#series = new EventSeries();
  }

  /** `reason` is one CamelCase word, `action` what was tried (the reason unless given), `message` a sentence. */
  event(
    regarding: Regarding | KubeObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    action = reason,
  ) {
    const { name = "", namespace = "", uid = "" } = regarding.metadata;
    const note = shortText(message, MAX_NOTE_CHARS);
    const key = JSON.stringify([regarding.kind, namespace, name, uid, type, reason, note]);
    const decision = this.#series.record(key, this.#clock.monotonicMs());
    if (decision.type === "drop" || this.#pending >= MAX_PENDING) {
      this.#log.debug({ reason, name }, "dropped an event: there are too many");
      return;
    }
    const event = this.#event(regarding, type, reason, note, action);
    this.#pending++;
    this.#last = this.#last
      .then(() => this.#write(key, event, decision))
      .catch((error) => this.#log.debug({ err: error, reason }, "could not write an event"))
      .finally(() => {
        this.#pending--;
      });
  }

  /** Resolves when every event so far is written or dropped. */
  async flush(): Promise<void> {
    await this.#last;
  }

  async #write(key: string, event: KubeEvent, decision: { readonly type: string; readonly count: number }) {
    const { client } = this.#options;
    const existing = this.#series.written(key);
    if (decision.type === "repeat" && existing) {
      const series = { count: decision.count, lastObservedTime: event.eventTime };
      await client.patch(
        RESOURCES.events,
        existing,
        { type: "merge", body: { series } },
        { timeoutMs: WRITE_TIMEOUT_MS },
      );
      return;
    }
    const created = await client.create(RESOURCES.events, event, { timeoutMs: WRITE_TIMEOUT_MS });
    this.#series.setWritten(key, { name: created.metadata.name ?? "", namespace: created.metadata.namespace });
  }

  #event(regarding: Regarding, type: string, reason: string, note: string, action: string): KubeEvent {
    const { name, namespace, uid, resourceVersion } = regarding.metadata;
    const { apiVersion, kind } = regarding;
    const about = { apiVersion, kind, name, namespace, uid, resourceVersion };
    return {
      metadata: {
        generateName: `${(name ?? "object").slice(0, 200)}-`,
        namespace: namespace || CLUSTER_SCOPE_NAMESPACE,
      },
      eventTime: rfc3339Micro(new Date(this.#clock.now())),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance.slice(0, 128),
      action: action.slice(0, 128),
      reason: reason.slice(0, 128),
      regarding: about as NonNullable<KubeEvent["regarding"]>,
      note,
      type,
    };
  }
}
