import type { Clock } from "../../src/kube/clock.ts";
import { sleepBy } from "../support/sleep.ts";
import type { Scheduler } from "./scheduler.ts";

/**
 * The process that one replica runs in. Everything that reaches the replica's code goes through `deliver`: a stopped
 * process gets it when it continues, a dead one never. So the process may stop or die at every await of the code.
 */
export class Host {
  readonly name: string;
  readonly clock: Clock;
  readonly #scheduler: Scheduler;
  #state: "running" | "paused" | "dead" = "running";
  #held: (() => void)[] = [];

  constructor(name: string, scheduler: Scheduler, skewMs: number) {
    this.name = name;
    this.#scheduler = scheduler;
    this.clock = new HostClock(this, scheduler, skewMs);
  }

  get isAlive(): boolean {
    return this.#state !== "dead";
  }

  get isPaused(): boolean {
    return this.#state === "paused";
  }

  deliver(run: () => void): void {
    if (this.#state === "running") run();
    else if (this.#state === "paused") this.#held.push(run);
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  /** What came meanwhile is delivered step by step. */
  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    const held = this.#held;
    this.#held = [];
    for (const run of held) this.#scheduler.after(0, () => this.deliver(run));
  }

  kill(): void {
    this.#state = "dead";
    this.#held = [];
  }
}

/** 2026-01-01: the day that every simulation begins. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** Node's timers take a millisecond at least. */
const MIN_TIMER_MS = 1;

class HostClock implements Clock {
  readonly #host: Host;
  readonly #scheduler: Scheduler;
  readonly #skewMs: number;

  constructor(host: Host, scheduler: Scheduler, skewMs: number) {
    this.#host = host;
    this.#scheduler = scheduler;
    this.#skewMs = skewMs;
  }

  now(): number {
    return EPOCH_MS + Math.floor(this.#scheduler.nowMs) + this.#skewMs;
  }

  monotonicMs(): number {
    return this.#scheduler.nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy((delayMs, callback) => this.after(delayMs, callback), ms, signal);
  }

  after(ms: number, callback: () => void): () => void {
    let cancelled = false;
    this.#scheduler.after(Math.max(MIN_TIMER_MS, ms), () => {
      if (cancelled) return;
      this.#host.deliver(() => {
        if (!cancelled) callback();
      });
    });
    return () => {
      cancelled = true;
    };
  }
}
