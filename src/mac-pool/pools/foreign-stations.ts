import { type HostInterface, type ReportedStation, STATION_FRESH_MS } from "../../api/host-interfaces.ts";
import type { Mac } from "../../api/mac.ts";
import { MAX_STATIONS } from "../../api/node-state.ts";

/** How long an address is kept from being given out after it was seen. */
const KEEP_MS = 24 * 3_600_000;
/** Forwarding tables remember a station for five minutes, and clocks differ. Until then a released address may be that of its last owner. */
const FORGOTTEN_MS = 10 * 60_000;
const SWEEP_MS = 60_000;

interface Station {
  readonly host: HostInterface;
  /** When it was seen for the first time. */
  readonly firstMs: number;
  untilMs: number;
  /**
   * `excluded`: the address is not given out. `seen`: it is, since the nodes exclude as many as they may. `taken`: an object of the
   * cluster has the address now, and somebody else had it before.
   */
  state: "excluded" | "seen" | "taken";
}

/**
 * Addresses that no object of the cluster has, and that nodes see beyond their uplinks: somebody else has them. One node is
 * enough to exclude an address. Times are those of the wall clock.
 */
export class ForeignStations {
  readonly #stations = new Map<Mac, Station>();
  /** Node -> addresses that count for it: that it was the first to see, or the first with room to exclude them. */
  readonly #byNode = new Map<string, Set<Mac>>();
  /** Address -> when its last owner went; the oldest first. */
  readonly #released = new Map<Mac, number>();
  #startMs: number | undefined;
  #sweptMs = Number.NEGATIVE_INFINITY;

  at(mac: Mac): HostInterface | undefined {
    const station = this.#stations.get(mac);
    return station?.state === "taken" ? undefined : station?.host;
  }

  /** Those that are seen, and those that were lately. */
  *macs(): Generator<Mac> {
    for (const [mac, { state }] of this.#stations) if (state !== "taken") yield mac;
  }

  excludes(mac: Mac): boolean {
    return this.#stations.get(mac)?.state === "excluded";
  }

  /** Excluded addresses that count for this node. */
  *excludedBy(node: string): Generator<Mac> {
    for (const mac of this.#byNode.get(node) ?? []) if (this.excludes(mac)) yield mac;
  }

  /** Whether the address is excluded from now on, and was not before. `hasRoom`: whether the node may exclude one more there. */
  see({ mac, host, seenMs }: ReportedStation, nowMs: number, hasRoom: () => boolean): boolean {
    const untilMs = this.#keptUntil(mac, seenMs, nowMs);
    if (untilMs === undefined) return false;
    const known = this.#stations.get(mac);
    if (known !== undefined) known.untilMs = Math.max(known.untilMs, untilMs);
    if (known?.state === "excluded" || !this.#hasPlace(mac, host.node)) return false;
    const isExcluded = hasRoom();
    const station = known ?? { host, firstMs: Math.min(seenMs, nowMs), untilMs, state: "seen" };
    if (isExcluded || known?.state !== "seen") {
      this.#forget(mac);
      this.#stations.set(mac, { ...station, host, state: isExcluded ? "excluded" : "seen" });
      this.#byNode.set(host.node, (this.#byNode.get(host.node) ?? new Set()).add(mac));
    }
    return isExcluded;
  }

  #hasPlace(mac: Mac, node: string): boolean {
    const own = this.#byNode.get(node);
    return own === undefined || own.has(mac) || own.size < MAX_STATIONS;
  }

  /** The same of an address that an object of the cluster has. Its own frames count only where somebody else had it before. */
  seeTaken({ mac, seenMs }: ReportedStation, nowMs: number): void {
    const station = this.#stations.get(mac);
    const untilMs = station && this.#keptUntil(mac, seenMs, nowMs);
    if (station !== undefined && untilMs !== undefined) station.untilMs = Math.max(station.untilMs, untilMs);
  }

  /** Until when the address is kept, by a node that saw it then; undefined where that says nothing. */
  #keptUntil(mac: Mac, seenMs: number, nowMs: number): number | undefined {
    this.#startMs ??= nowMs;
    const atMs = Math.min(seenMs, nowMs);
    const forgottenMs = (this.#released.get(mac) ?? Number.NEGATIVE_INFINITY) + FORGOTTEN_MS;
    if (atMs <= forgottenMs || nowMs - atMs > STATION_FRESH_MS) return undefined;
    // Who had it before this replica started is not known.
    return atMs + (atMs <= this.#startMs + FORGOTTEN_MS ? STATION_FRESH_MS : KEEP_MS);
  }

  /**
   * An object of the cluster has the address, since `sinceMs`. What was seen since then was the object itself. Whether the address
   * was shown until now.
   */
  take(mac: Mac, sinceMs: number): boolean {
    const station = this.#stations.get(mac);
    if (station === undefined) return false;
    const { state, firstMs } = station;
    if (firstMs < sinceMs) station.state = "taken";
    else this.#forget(mac);
    return state !== "taken";
  }

  /** No object of the cluster has the address any more. Whether it is excluded again, because somebody else has it. */
  release(mac: Mac, nowMs: number, hasRoom: (node: string) => boolean): boolean {
    this.#startMs ??= nowMs;
    this.#released.delete(mac);
    this.#released.set(mac, nowMs);
    const station = this.#stations.get(mac);
    if (station?.state !== "taken") return false;
    station.state = hasRoom(station.host.node) ? "excluded" : "seen";
    return station.state === "excluded";
  }

  /** There is no room for it any more. */
  include(mac: Mac): void {
    const station = this.#stations.get(mac);
    if (station?.state === "excluded") station.state = "seen";
  }

  /** Forgets what is over, once a minute at most; the addresses that are not kept any more. */
  sweep(nowMs: number): Mac[] {
    if (nowMs - this.#sweptMs < SWEEP_MS) return [];
    this.#sweptMs = nowMs;
    for (const [mac, releasedMs] of this.#released) {
      if (nowMs - releasedMs <= FORGOTTEN_MS + STATION_FRESH_MS) break;
      this.#released.delete(mac);
    }
    const over = [...this.#stations].filter(([, { untilMs }]) => nowMs > untilMs).map(([mac]) => mac);
    for (const mac of over) this.#forget(mac);
    return over;
  }

  #forget(mac: Mac): void {
    const node = this.#stations.get(mac)?.host.node ?? "";
    this.#stations.delete(mac);
    const own = this.#byNode.get(node);
    own?.delete(mac);
    if (own?.size === 0) this.#byNode.delete(node);
  }
}
