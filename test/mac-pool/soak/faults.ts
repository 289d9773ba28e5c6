import type { ControlPlane } from "../../cluster/control-plane/control-plane.ts";
import type { PoolBed } from "../pool-bed.ts";

export interface FaultOptions {
  readonly bed: PoolBed;
  readonly controlPlane: ControlPlane;
  readonly replicas: readonly string[];
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Shares of the whole after which the API server is restarted. */
  readonly restartsAt: readonly number[];
  /** The share that is done. */
  readonly progress: () => number;
  readonly log: (line: string) => void;
}

const BETWEEN_MS = 3_000;
const SPREAD_MS = 4_000;
const MAX_STOPPED_MS = 20_000;

/** Kills and stops replicas at random, and restarts the API server at the given times; counts the kills. */
export class Faults {
  kills = 0;
  stops = 0;
  restarts = 0;
  readonly #options: FaultOptions;

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** Until the signal aborts; every replica runs again then. */
  async run(signal: AbortSignal): Promise<void> {
    const { bed, controlPlane, replicas, random, restartsAt, progress, log } = this.#options;
    const due = [...restartsAt];
    while (!signal.aborted) {
      await pause(BETWEEN_MS + random() * SPREAD_MS, signal);
      if (signal.aborted) return;
      if (due[0] !== undefined && progress() > due[0]) {
        due.shift();
        this.restarts++;
        log("restarting the API server");
        await controlPlane.restartApiServer();
        continue;
      }
      const name = replicas[Math.floor(random() * replicas.length)] ?? "";
      if (random() < 0.6) {
        this.kills++;
        log(`killing ${name}`);
        await bed.killReplica(name);
        await bed.startReplica(name);
      } else {
        this.stops++;
        log(`stopping ${name}`);
        bed.pauseReplica(name);
        await pause(random() * MAX_STOPPED_MS, signal);
        bed.resumeReplica(name);
      }
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
