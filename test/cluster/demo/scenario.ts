/**
 * A scenario is a list of steps that build on each other. Each proves something about the running cluster and says so
 * with the values it read back; the first that does not hold ends the scenario, the rest count as not held.
 */

export interface Step<Context> {
  /** Stable key of the report. */
  readonly name: string;
  readonly limitMs: number;
  /**
   * Throws when the step does not hold. `values` is filled on the way, so that a failed step still reports what it
   * had found by then.
   */
  run(context: Context, values: Values, signal: AbortSignal): Promise<StepText>;
}

export type Values = Record<string, unknown>;

/** What a reader sees of a step that held. */
export interface StepText {
  readonly text: string;
  readonly details?: readonly string[];
  /** What a command printed, as it is. */
  readonly output?: readonly string[];
}

export interface StepResult {
  readonly name: string;
  readonly ok: boolean;
  readonly ms: number;
  readonly values: Values;
}

export interface Report {
  readonly ok: boolean;
  readonly steps: readonly StepResult[];
}

export interface ScenarioListener {
  begin(step: string, index: number): void;
  held(result: StepResult, index: number, told: StepText): void;
  failed(result: StepResult, index: number, error: unknown): void;
}

/** Collects results while the scenario runs, so that a report can be given at any moment, also in the middle. */
export class Scenario<Context> {
  readonly #steps: readonly Step<Context>[];
  readonly #results: StepResult[] = [];
  #current: { name: string; startedMs: number; values: Values } | undefined;

  constructor(steps: readonly Step<Context>[]) {
    this.#steps = steps;
  }

  async run(context: Context, listener: ScenarioListener, signal: AbortSignal): Promise<boolean> {
    for (const [index, step] of this.#steps.entries()) {
      if (!(await this.#runStep(step, index, context, listener, signal))) return false;
    }
    return true;
  }

  async #runStep(
    step: Step<Context>,
    index: number,
    context: Context,
    listener: ScenarioListener,
    signal: AbortSignal,
  ): Promise<boolean> {
    const values: Values = {};
    const current = { name: step.name, startedMs: performance.now(), values };
    this.#current = current;
    listener.begin(step.name, index);
    const end = (ok: boolean): StepResult => {
      const result = { name: step.name, ok, ms: Math.round(performance.now() - current.startedMs), values };
      this.#results.push(result);
      this.#current = undefined;
      return result;
    };
    try {
      const told = await withinLimit(step, context, values, signal);
      listener.held(end(true), index, told);
      return true;
    } catch (error) {
      values.error = messageOf(error);
      listener.failed(end(false), index, error);
      return false;
    }
  }

  /** `reason` says why the scenario ended where it did; the steps after that name the one that did not hold. */
  report(reason: string): Report {
    const results = [...this.#results];
    if (this.#current !== undefined) {
      const { name, startedMs, values } = this.#current;
      const ms = Math.round(performance.now() - startedMs);
      results.push({ name, ok: false, ms, values: { ...values, error: reason } });
    }
    for (const { name } of this.#steps.slice(results.length)) {
      const failed = results.find((result) => !result.ok);
      const values = failed === undefined ? { error: reason } : { notRun: `${failed.name} did not hold` };
      results.push({ name, ok: false, ms: 0, values });
    }
    return { ok: results.every((result) => result.ok), steps: results };
  }
}

async function withinLimit<Context>(
  step: Step<Context>,
  context: Context,
  values: Values,
  signal: AbortSignal,
): Promise<StepText> {
  const limit = AbortSignal.timeout(step.limitMs);
  const both = AbortSignal.any([signal, limit]);
  const aborted = new Promise<never>((_, reject) => {
    const refuse = (): void =>
      reject(limit.aborted ? new Error(`not done within ${step.limitMs / 1000} s`) : signal.reason);
    both.addEventListener("abort", refuse, { once: true });
    if (both.aborted) refuse();
  });
  return Promise.race([step.run(context, values, both), aborted]);
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}
