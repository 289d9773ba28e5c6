/** Reads the events that report why something does not proceed, when that has to be said. Events are not watched: there are many. */

import type { KubeEvent } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { EventQuery } from "./event-query.ts";

export interface WarningEvent {
  readonly reason: string;
  readonly message: string;
}

export interface WarningEventsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** What was read is good for so long. */
  readonly maxAgeMs: number;
}

export class WarningEvents {
  readonly #options: WarningEventsOptions;
  readonly #known = new Map<string, { readonly atMs: number; readonly event: WarningEvent | undefined }>();

  constructor(options: WarningEventsOptions) {
    this.#options = options;
  }

  /** The latest one. Undefined if there is none, and if they can't be read. */
  async latest(eventQuery: EventQuery, signal: AbortSignal): Promise<WarningEvent | undefined> {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, { atMs }] of this.#known) {
      if (nowMs - atMs > this.#options.maxAgeMs) this.#known.delete(key);
    }
    const key = `${eventQuery.kind} ${eventQuery.namespace}/${eventQuery.name} ${eventQuery.uid ?? ""}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known.event;
    const event = await this.#read(eventQuery, signal);
    this.#known.set(key, { atMs: nowMs, event });
    return event;
  }

  async #read(
    { kind, namespace, name, uid, reasons }: EventQuery,
    signal: AbortSignal,
  ): Promise<WarningEvent | undefined> {
    const fieldSelector = `type=Warning,regarding.kind=${kind},regarding.name=${name}`;
    try {
      const { items } = await this.#options.client.list(RESOURCES.events, { namespace, fieldSelector, signal });
      const isMeant = (event: KubeEvent): boolean => uid === undefined || event.regarding?.uid === uid;
      const matching = items.filter((event) => reasons.has(event.reason ?? "") && isMeant(event));
      const [latest] = matching.toSorted((a, b) => timeOf(b) - timeOf(a));
      return latest === undefined ? undefined : { reason: latest.reason ?? "", message: latest.note ?? "" };
    } catch (error) {
      signal.throwIfAborted();
      this.#options.log.warn({ err: error }, `the events of ${kind} ${namespace}/${name} could not be read`);
      return undefined;
    }
  }
}

function timeOf({ series, deprecatedLastTimestamp, eventTime, metadata }: KubeEvent): number {
  const time = series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp;
  return Date.parse(String(time)) || 0;
}
