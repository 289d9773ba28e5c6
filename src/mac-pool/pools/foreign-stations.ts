import type { HostInterface, ReportedStation } from "../../api/host-interfaces.ts";
import type { Mac } from "../../api/mac.ts";
import { MAX_STATIONS } from "../../api/node-state.ts";

/** How long an address is kept from being given out after it was seen. */
const KEEP_MS = 24 * 3_600_000;
/** A node reports every ten minutes what it saw in the ten minutes before. What is older comes from a report that nobody writes any more. */
const FRESH_MS = 30 * 60_000;
/** Forwarding tables remember a station for five minutes, and clocks differ. Until then a released address may be that of its last owner. */
const FORGOTTEN_MS = 10 * 60_000;
const SWEEP_MS = 60_000;

interface Station {
  readonly host: HostInterface;
  untilMs: number;
}

/**
 * Addresses that no object of the cluster has, and that nodes see beyond their uplinks: somebody else has them. One node is
 * enough to keep an address, and keeps no more of them than it may report. Times are those of the wall clock.
 */
export class ForeignStations {
  readonly #stations = new Map<Mac, Station>();
  /** Node -> addresses that it was the first to see. */
  readonly #byNode = new Map<string, Set<Mac>>();
  /** Address -> when its last owner went; the oldest first. */
  readonly #released = new Map<Mac, number>();
  #startMs: number | undefined;
  #sweptMs = Number.NEGATIVE_INFINITY;

  at(mac: Mac): HostInterface | undefined {
    return this.#stations.get(mac)?.host;
  }

  macs(): Iterable<Mac> {
    return this.#stations.keys();
  }

  /** Addresses that this node was the first to see. */
  of(node: string): ReadonlySet<Mac> {
    return this.#byNode.get(node) ?? NONE;
  }

  /** Whether the address is kept from now on, and was not before. `hasRoom`: whether the node may keep one more there. */
  see({ mac, host, seenMs }: ReportedStation, nowMs: number, hasRoom: () => boolean): boolean {
    this.#startMs ??= nowMs;
    const atMs = Math.min(seenMs, nowMs);
    const forgottenMs = (this.#released.get(mac) ?? Number.NEGATIVE_INFINITY) + FORGOTTEN_MS;
    if (atMs <= forgottenMs || nowMs - atMs > FRESH_MS) return false;
    // Who had it before this replica started is not known.
    const untilMs = atMs + (atMs <= this.#startMs + FORGOTTEN_MS ? FRESH_MS : KEEP_MS);
    const known = this.#stations.get(mac);
    if (known !== undefined) {
      known.untilMs = Math.max(known.untilMs, untilMs);
      return false;
    }
    const own = this.#byNode.get(host.node) ?? new Set();
    if (own.size >= MAX_STATIONS || !hasRoom()) return false;
    this.#stations.set(mac, { host, untilMs });
    this.#byNode.set(host.node, own.add(mac));
    return true;
  }

  /** An object of the cluster has the address. Whether it was kept until now. */
  forget(mac: Mac): boolean {
    const node = this.#stations.get(mac)?.host.node;
    if (node === undefined) return false;
    this.#stations.delete(mac);
    const own = this.#byNode.get(node);
    own?.delete(mac);
    if (own?.size === 0) this.#byNode.delete(node);
    return true;
  }

  /** No object of the cluster has the address any more. */
  release(mac: Mac, nowMs: number): void {
    this.#startMs ??= nowMs;
    this.#released.delete(mac);
    this.#released.set(mac, nowMs);
  }

  /** Forgets what is over, once a minute at most; the addresses that are not kept any more. */
  sweep(nowMs: number): Mac[] {
    if (nowMs - this.#sweptMs < SWEEP_MS) return [];
    this.#sweptMs = nowMs;
    for (const [mac, releasedMs] of this.#released) {
      if (nowMs - releasedMs <= FORGOTTEN_MS + FRESH_MS) break;
      this.#released.delete(mac);
    }
    const over = [...this.#stations].filter(([, { untilMs }]) => nowMs > untilMs).map(([mac]) => mac);
    for (const mac of over) this.forget(mac);
    return over;
  }
}

const NONE: ReadonlySet<Mac> = new Set();
