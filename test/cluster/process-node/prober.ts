/** Startup, readiness and liveness probes of a running container. */
import type { Container, Probe } from "kubernetes-types/core/v1.js";
import { systemClock } from "../../../src/kube/clock.ts";
import { runProbe } from "./probe.ts";

export interface ProberOptions {
  readonly container: Container;
  readonly address: string;
  readonly pid: () => number | undefined;
  /** The container became ready, or not ready. */
  readonly changed: () => void;
  /** The startup or liveness probe has failed for good. */
  readonly failed: () => void;
}

/** Probes run more often than the period until the first success, so that no test waits for a whole period. */
const EAGER_PERIOD_MS = 50;

export class Prober {
  readonly #options: ProberOptions;
  readonly #stop = new AbortController();
  #started: boolean;
  #ready: boolean;

  constructor(options: ProberOptions) {
    const { startupProbe, readinessProbe } = options.container;
    this.#options = options;
    this.#started = startupProbe === undefined;
    this.#ready = readinessProbe === undefined;
    this.#run().catch(() => {}); // ends by the signal
  }

  get started(): boolean {
    return this.#started;
  }

  get ready(): boolean {
    return this.#ready && this.#started;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = this.#options.container;
    if (startupProbe && !(await this.#startup(startupProbe))) return;
    const ready = (value: boolean): void => {
      if (this.#ready === value) return;
      this.#ready = value;
      this.#options.changed();
    };
    if (readinessProbe) this.#repeat(readinessProbe, ready).catch(() => {});
    if (livenessProbe) {
      this.#repeat(livenessProbe, (alive) => {
        if (alive) return;
        this.#stop.abort();
        this.#options.failed();
      }).catch(() => {});
    }
  }

  async #startup(probe: Probe): Promise<boolean> {
    const verdict = Promise.withResolvers<boolean>();
    const over = new AbortController();
    this.#repeat(probe, verdict.resolve, AbortSignal.any([this.#stop.signal, over.signal])).catch(() => {});
    const passed = await verdict.promise;
    over.abort();
    if (passed) {
      this.#started = true;
      this.#options.changed();
    } else {
      this.#options.failed();
    }
    return passed;
  }

  /** Tells each time a threshold is crossed. */
  async #repeat(probe: Probe, tell: (good: boolean) => void, signal: AbortSignal = this.#stop.signal): Promise<void> {
    const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = probe;
    await systemClock.sleep(initialDelaySeconds * 1000, signal);
    const { container, address, pid } = this.#options;
    const periodMs = periodSeconds * 1000;
    let [successes, failures, everGood] = [0, 0, false];
    let failingSince = performance.now();
    for (;;) {
      const good = await runProbe(probe, { container, address, pid: pid() });
      if (signal.aborted) return;
      if (good) {
        [successes, failures, everGood] = [successes + 1, 0, true];
        if (successes === successThreshold) tell(true);
      } else {
        if (failures === 0) failingSince = performance.now();
        [successes, failures] = [0, failures + 1];
        // Early probes don't count towards the failure threshold.
        const enough = everGood || performance.now() - failingSince >= (failureThreshold - 1) * periodMs;
        if (failures >= failureThreshold && enough) tell(false);
      }
      await systemClock.sleep(everGood ? periodMs : Math.min(periodMs, EAGER_PERIOD_MS), signal);
    }
  }
}
