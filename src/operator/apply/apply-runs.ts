/**
 * The applies of the components. One that takes long goes on while the others are reported: an API server that waits ten
 * seconds for somebody's webhook at each write must not keep the status of everything from being written, nor another component
 * from being changed (test/operator/others-webhooks.real.test.ts).
 */

import type { Clock } from "../../kube/clock.ts";
import { type ApplyResult, messageOf } from "./applier.ts";
import { entriesAfter, type Inventory } from "./inventory.ts";

export interface ApplyRunsOptions {
  readonly clock: Clock;
  /** Called when an apply has ended that was left behind. */
  readonly onEnd: () => void;
}

/** What is applied: equal texts for equal objects. */
type Content = string;

interface Run {
  readonly content: Content;
  readonly stop: AbortController;
  /** Of the run before. */
  readonly before: ApplyResult;
  /** Its pass is over. */
  isLeft: boolean;
  /** Once it has ended. */
  result?: ApplyResult;
  /** Never rejects. */
  ended?: Promise<void>;
}

const LIMIT_MS = 5_000;
const NOTHING: ApplyResult = { settled: new Map(), failures: [], otherWriters: [], waiting: [] };
const SLOW =
  "is still being applied, because the API server answers slowly. Look for a webhook that does not answer with " +
  "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations";

export class ApplyRuns {
  readonly #options: ApplyRunsOptions;
  /** The last one of each component. */
  readonly #runs = new Map<string, Run>();

  constructor(options: ApplyRunsOptions) {
    this.#options = options;
  }

  /** Ends every apply whose component is not wanted with the same content. Resolves once none of them writes. */
  async keep(wanted: ReadonlyMap<string, Content>): Promise<void> {
    const others = [...this.#runs].filter(([name, { content }]) => wanted.get(name) !== content);
    for (const [name, { stop }] of others) {
      this.#runs.delete(name);
      stop.abort(new Error("something else is to be applied"));
    }
    await Promise.all(others.map(([, { ended }]) => ended));
  }

  /** The inventory with what was settled after the last pass. */
  withSettled(inventory: Inventory): Inventory {
    const left = [...this.#runs.values()].filter(({ isLeft }) => isLeft);
    return entriesAfter(inventory, new Set(), new Map(left.flatMap(({ result }) => [...(result?.settled ?? [])])));
  }

  /** Starts `work` unless it runs already. What does not end in time is waited for, or has failed as it did before. */
  async apply(
    component: string,
    content: Content,
    work: (signal: AbortSignal) => Promise<ApplyResult>,
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    const last = this.#runs.get(component);
    const slow = ({ before }: Run) => ({ ...before, settled: NOTHING.settled, waiting: [`${component} ${SLOW}`] });
    if (last !== undefined && last.result === undefined) return slow(last);
    const stop = new AbortController();
    const inTime = new AbortController();
    const run: Run = { content, stop, before: last?.result ?? NOTHING, isLeft: false };
    const working = work(AbortSignal.any([signal, stop.signal]));
    run.ended = working
      .catch((error: unknown) => ({ ...NOTHING, failures: [messageOf(error)] }))
      .then((result) => {
        run.result = result;
        inTime.abort();
        if (run.isLeft) this.#options.onEnd();
      });
    this.#runs.set(component, run);
    const limit = this.#options.clock.sleep(LIMIT_MS, inTime.signal).catch(() => {});
    await Promise.race([run.ended, limit]);
    if (run.result !== undefined) return await working;
    run.isLeft = true;
    return slow(run);
  }
}
