import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Mac } from "../api/mac.ts";
import type { RefusalCode } from "./claims/refusals.ts";
import type { PoolIndex } from "./pools/pool-index.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 1, 2, 5, 10];

interface Adopting {
  readonly owners: number;
  readonly adopted: number;
}

/** The numbers of the MAC pool for Prometheus; gauges are read from the index when they are scraped. */
export class PoolMetrics {
  readonly #allocations: Counter;
  readonly #denials: Counter;
  readonly #leaks: Counter;
  readonly #unjudged: Counter;
  readonly #admission: Histogram;
  readonly #sync: Gauge;
  /** Pool -> its last adoption that this replica led. */
  readonly #adoptions = new Map<string, Adopting>();
  readonly #collisions: Gauge;
  readonly #seenElsewhere: Gauge;

  /** `notAfterMs`: until when the certificate in service is valid. */
  constructor(registry: Registry, index: PoolIndex, notAfterMs: () => number | undefined, isLeader: () => boolean) {
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
      "Addresses of a pool, in use or free.",
      () => index.pools().map((pool) => [pool.name, pool.capacity]),
      "pool",
    );
    gauge(
      "kubevirt_macpool_free",
      "Free addresses of a pool.",
      () => index.pools().map((pool) => [pool.name, pool.counts.free]),
      "pool",
    );
    gauge(
      "kubevirt_macpool_host_addresses",
      "Addresses of a pool that it does not give out because nodes or stations outside the cluster have them.",
      () => index.pools().map((pool) => [pool.name, pool.counts.hostAddresses]),
      "pool",
    );
    new Gauge({
      name: "kubevirt_macpool_host_conflicts",
      help: "Addresses that an object has by its claim and a node has on an interface of its own, in and outside the ranges.",
      registers,
      collect() {
        const isHeld = (mac: Mac): boolean => (index.claim(mac)?.ownerCount ?? 0) > 0;
        this.set([...index.hosts.macs()].filter(isHeld).length);
      },
    });
    new Gauge({
      name: "kubevirt_kmp_duplicate_macs",
      help:
        "Deprecated, use kmp_mac_collisions. Objects, running or not, that list an address which another one has too, " +
        "without the first of each address. Reported by the elected leader.",
      registers,
      collect() {
        const others = (mac: Mac): number => (index.claim(mac)?.ownerCount ?? 1) - 1;
        this.set(isLeader() ? [...index.shared].reduce((sum, mac) => sum + others(mac), 0) : 0);
      },
    });
    gauge("kubevirt_macpool_claims", "MACClaims, by phase.", () => index.claimsByPhase(), "phase");
    new Gauge({
      name: "kubevirt_macpool_certificate_not_after_seconds",
      help: "Expiry of the serving certificate, as Unix time.",
      registers,
      collect() {
        this.set((notAfterMs() ?? 0) / 1000);
      },
    });
    this.#allocations = new Counter({
      name: "kubevirt_macpool_allocations_total",
      help: "Addresses given to objects, by kind of object and by origin: automatic (chosen by the pool) or explicit (written by the user).",
      labelNames: ["kind", "origin"],
      registers,
    });
    this.#denials = new Counter({
      name: "kubevirt_macpool_denials_total",
      help: "Requests refused, by reason.",
      labelNames: ["reason"],
      registers,
    });
    this.#leaks = new Counter({
      name: "kubevirt_macpool_leaks_total",
      help: "Claims that were deleted because their objects never came.",
      registers,
    });
    this.#unjudged = new Counter({
      name: "kubevirt_macpool_unjudged_starts_total",
      help: "Starts of VMs that were admitted although it could not be checked whether another holder of their address runs.",
      registers,
    });
    this.#admission = new Histogram({
      name: "kubevirt_macpool_admission_duration_seconds",
      help: "Duration of admission requests.",
      labelNames: ["webhook"],
      buckets: SECONDS,
      registers,
    });
    this.#collisions = new Gauge({
      name: "kmp_mac_collisions",
      help: "Running objects that have the same MAC address, if more than one. Reported by the elected leader.",
      labelNames: ["mac"],
      registers,
    });
    this.#seenElsewhere = new Gauge({
      name: "kubevirt_macpool_seen_elsewhere",
      help: "Addresses of running objects that a station outside the cluster uses too, as nodes see it. Reported by the elected leader.",
      registers,
    });
    const adoptions = (field: keyof Adopting) => (): (readonly [string, number])[] => {
      for (const pool of this.#adoptions.keys()) {
        if (pool !== "" && index.pool(pool) === undefined) this.#adoptions.delete(pool);
      }
      return isLeader() ? [...this.#adoptions].map(([pool, progress]) => [pool, progress[field]]) : [];
    };
    gauge(
      "kubevirt_macpool_adoption_owners",
      "Objects that had addresses of a pool without a claim when the elected leader's last adoption began.",
      adoptions("owners"),
      "pool",
    );
    gauge(
      "kubevirt_macpool_adoption_owners_done",
      "Those of kubevirt_macpool_adoption_owners whose addresses have a claim now, or need none.",
      adoptions("adopted"),
      "pool",
    );
    this.#sync = new Gauge({
      name: "kubevirt_macpool_sync_seconds",
      help: "Time from the start of the process until its caches were filled.",
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

  unjudged(): void {
    this.#unjudged.inc();
  }

  /** Parties of a collision; 1 or less when there is none. */
  collided(mac: string, refs: number): void {
    if (refs > 1) this.#collisions.set({ mac }, refs);
    else this.#collisions.remove({ mac });
  }

  seenElsewhere(addresses: number): void {
    this.#seenElsewhere.set(addresses);
  }

  admitted(webhook: string, durationMs: number): void {
    this.#admission.observe({ webhook }, durationMs / 1000);
  }

  /** `pool` is empty for addresses of no pool. */
  adopting(pool: string, progress: Adopting): void {
    this.#adoptions.set(pool, progress);
  }

  synced(durationMs: number): void {
    this.#sync.set(durationMs / 1000);
  }
}
