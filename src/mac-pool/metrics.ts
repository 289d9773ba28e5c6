import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import { LabelledHistogram } from "../kube/process/labelled-histogram.ts";
import type { PoolIndex } from "./core/pool-index.ts";
import type { RefusalCode } from "./core/refusals.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 1, 2, 5, 10];

/** The numbers of the MAC pool for Prometheus; gauges are read from the index when they are scraped. */
export class PoolMetrics {
  readonly #allocations: Counter;
  readonly #denials: Counter;
  readonly #leaks: Counter;
  readonly #admission: LabelledHistogram;
  readonly #sync: Gauge;
  readonly #collisions: Gauge;

  /** `notAfterMs`: until when the certificate in service is valid. */
  constructor(registry: Registry, index: PoolIndex, notAfterMs: () => number | undefined) {
    const registers = [registry];
    const gauge = (name: string, help: string, values: () => Iterable<readonly [string, number]>, label: string) =>
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [key, value] of values()) this.set({ [label]: key }, value);
        },
      });
    gauge(
      "kubevirt_macpool_capacity",
      "Addresses that a pool has.",
      () => index.pools().map((pool) => [pool.name, pool.counts.capacity]),
      "pool",
    );
    gauge(
      "kubevirt_macpool_free",
      "Addresses of a pool that nobody has.",
      () => index.pools().map((pool) => [pool.name, pool.counts.free]),
      "pool",
    );
    gauge("kubevirt_macpool_claims", "Addresses in use, by phase.", () => index.claimsByPhase(), "phase");
    new Gauge({
      name: "kubevirt_macpool_certificate_not_after_seconds",
      help: "Unix time until which the certificate of the webhooks is valid.",
      registers,
      collect() {
        this.set((notAfterMs() ?? 0) / 1000);
      },
    });
    this.#allocations = new Counter({
      name: "kubevirt_macpool_allocations_total",
      help: "Addresses given out, by kind of object and by whether they were asked for.",
      labelNames: ["kind", "origin"],
      registers,
    });
    this.#denials = new Counter({
      name: "kubevirt_macpool_denials_total",
      help: "Objects refused, by reason.",
      labelNames: ["reason"],
      registers,
    });
    this.#leaks = new Counter({
      name: "kubevirt_macpool_leaks_total",
      help: "Addresses given to objects that were never created, freed at their deadline.",
      registers,
    });
    this.#admission = new LabelledHistogram({
      name: "kubevirt_macpool_admission_duration_seconds",
      help: "Time an admission request took.",
      label: "webhook",
      buckets: SECONDS,
      registers,
    });
    this.#collisions = new Gauge({
      name: "kmp_mac_collisions",
      help: "Running objects that have the same MAC address, where there are several; the elected leader tells.",
      labelNames: ["mac"],
      registers,
    });
    this.#sync = new Gauge({
      name: "kubevirt_macpool_sync_seconds",
      help: "Time from the start of the process until it had read everything.",
      registers,
    });
  }

  allocated(kind: string, origin: "automatic" | "explicit"): void {
    this.#allocations.inc({ kind, origin });
  }

  denied(reason: RefusalCode): void {
    this.#denials.inc({ reason });
  }

  leaked(): void {
    this.#leaks.inc();
  }

  /** Parties of a collision; 1 or less when there is none. */
  collided(mac: string, parties: number): void {
    if (parties > 1) this.#collisions.set({ mac }, parties);
    else this.#collisions.remove({ mac });
  }

  admitted(webhook: string, durationMs: number): void {
    this.#admission.observe(webhook, durationMs / 1000);
  }

  synced(durationMs: number): void {
    this.#sync.set(durationMs / 1000);
  }
}
