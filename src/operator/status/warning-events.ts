/** Reads the events that tell why something does not proceed, when that has to be said. Events are not watched: there are many. */

import type { KubeEvent } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { Question } from "./questions.ts";

export interface WarningEvent {
  readonly reason: string;
  readonly message: string;
}

export interface WarningEventsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** An answer is good for so long. */
  readonly maxAgeMs: number;
}

export class WarningEvents {
  readonly #options: WarningEventsOptions;
  readonly #answers = new Map<string, { readonly atMs: number; readonly event: WarningEvent | undefined }>();

  constructor(options: WarningEventsOptions) {
    this.#options = options;
  }

  /** The latest one. Undefined if there is none, and if they can't be read. */
  async latest(question: Question, signal: AbortSignal): Promise<WarningEvent | undefined> {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, { atMs }] of this.#answers) {
      if (nowMs - atMs > this.#options.maxAgeMs) this.#answers.delete(key);
    }
    const key = `${question.kind} ${question.namespace}/${question.name} ${question.uid ?? ""}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known.event;
    const event = await this.#read(question, signal);
    this.#answers.set(key, { atMs: nowMs, event });
    return event;
  }

  async #read(
    { kind, namespace, name, uid, reasons }: Question,
    signal: AbortSignal,
  ): Promise<WarningEvent | undefined> {
    const fieldSelector = `type=Warning,regarding.kind=${kind},regarding.name=${name}`;
    try {
      const { items } = await this.#options.client.list(RESOURCES.events, { namespace, fieldSelector, signal });
      const isMeant = (event: KubeEvent): boolean => uid === undefined || event.regarding?.uid === uid;
      const told = items.filter((event) => reasons.has(event.reason ?? "") && isMeant(event));
      const [latest] = told.toSorted((a, b) => timeOf(b) - timeOf(a));
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
