/**
 * The applies of the components. One that takes long goes on while the others are reported: an API server that waits ten
 * seconds for somebody's webhook at each write must not keep the status of everything from being written, nor another component
 * from being changed (test/operator/others-webhooks.real.test.ts).
 */

import type { Clock } from "../../kube/clock.ts";
import { type ApplyResult, messageOf } from "./applier.ts";
import type { Inventory } from "./inventory.ts";

export interface ApplyRunsOptions {
  readonly clock: Clock;
  /** Called when an apply has ended that was left behind. */
  readonly onEnd: () => void;
}

/** What is applied: equal texts for equal objects. */
type Content = string;

type Trouble = Pick<ApplyResult, "failures" | "otherWriters">;

interface Run {
  readonly content: Content;
  readonly stop: AbortController;
  /** Never rejects. */
  readonly ended: Promise<unknown>;
}

const LIMIT_MS = 5_000;
const NO_TROUBLE: Trouble = { failures: [], otherWriters: [] };
const SLOW =
  "is still being applied, because the API server answers slowly. Look for a webhook that does not answer with " +
  "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations";

export class ApplyRuns {
  readonly #options: ApplyRunsOptions;
  readonly #running = new Map<string, Run>();
  /** Fingerprints that were settled after their pass was over, by object key. */
  readonly #settled = new Map<string, string>();
  /** What the last apply of each component could not do. */
  readonly #troubles = new Map<string, Trouble & { readonly content: Content }>();

  constructor(options: ApplyRunsOptions) {
    this.#options = options;
  }

  /** Ends every apply whose component is not wanted with the same content. Resolves once none of them writes. */
  async keep(wanted: ReadonlyMap<string, Content>): Promise<void> {
    const others = [...this.#running].filter(([name, { content }]) => wanted.get(name) !== content);
    for (const [, { stop }] of others) stop.abort(new Error("something else is to be applied"));
    await Promise.all(others.map(([, { ended }]) => ended));
  }

  /** The inventory with what was settled after the last pass. */
  withSettled(inventory: Inventory): Inventory {
    const entries = new Map(inventory);
    for (const [key, fingerprint] of this.#settled) {
      const entry = entries.get(key);
      if (entry !== undefined) entries.set(key, { ...entry, fingerprint });
    }
    this.#settled.clear();
    return entries;
  }

  /** Starts `work` unless it runs already. What does not end in time is waited for, or has failed as it did before. */
  async apply(
    component: string,
    content: Content,
    work: (signal: AbortSignal) => Promise<ApplyResult>,
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    const result = this.#running.has(component) ? undefined : await this.#start(component, content, work, signal);
    if (result !== undefined) return result;
    const before = this.#troubles.get(component);
    const { failures, otherWriters } = before?.content === content ? before : NO_TROUBLE;
    return { settled: new Map(), failures, otherWriters, waiting: [`${component} ${SLOW}`] };
  }

  /** Undefined if it takes too long. */
  async #start(
    component: string,
    content: Content,
    work: (signal: AbortSignal) => Promise<ApplyResult>,
    signal: AbortSignal,
  ): Promise<ApplyResult | undefined> {
    const stop = new AbortController();
    const inTime = new AbortController();
    const working = work(AbortSignal.any([signal, stop.signal]));
    let isLeft = false;
    const ended = working
      .then(
        ({ settled, failures, otherWriters }): Trouble => {
          if (isLeft) for (const [key, fingerprint] of settled) this.#settled.set(key, fingerprint);
          return { failures, otherWriters };
        },
        (error: unknown): Trouble => ({ failures: [messageOf(error)], otherWriters: [] }),
      )
      .then((trouble) => {
        inTime.abort();
        if (!stop.signal.aborted) this.#troubles.set(component, { content, ...trouble });
        this.#running.delete(component);
        if (isLeft) this.#options.onEnd();
      });
    this.#running.set(component, { content, stop, ended });
    const limit = this.#options.clock.sleep(LIMIT_MS, inTime.signal).catch(() => {});
    await Promise.race([ended, limit]);
    isLeft = this.#running.has(component);
    return isLeft ? undefined : await working;
  }
}
