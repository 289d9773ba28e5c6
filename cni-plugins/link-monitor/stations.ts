/**
 * Which addresses of the pools' ranges are seen beyond the uplinks of a node, and which of any range are used on both sides. Time
 * is an argument; pure.
 */

import { MAX_STATIONS } from "../../src/api/node-state.ts";
import type { LearnedAddress } from "../netlink/neighbour.ts";

/** Longer than the five minutes for which a bridge remembers a station that is silent. */
const KEEP_MS = 10 * 60_000;
/** An address that moves from a port of the node to an uplink so often within that time is used on both sides. */
const MOVES = 3;
const WITHIN_MS = 60_000;
/** Addresses at ports of the node that are remembered, and addresses that moved from there. */
const MAX_LOCAL = 256;
/** Rank of what came to an uplink from a port of the node. */
const FIRST = -1;

/** What the marker asks for: ranges that ascend and do not overlap, and a number of the node. */
export interface StationQuery {
  readonly ranges: readonly (readonly [first: number, last: number])[];
  /** Makes nodes that see more stations than they may report choose others than their neighbours. */
  readonly seed: number;
}

/** As it is printed: address, index of the uplink, VLAN or 0, seconds since it was seen, seconds since it flapped or -1. */
type PrintedStation = readonly [mac: number, port: number, vlan: number, ageSeconds: number, flapAge: number];

interface Station {
  readonly mac: number;
  readonly vlan: number;
  readonly isInRange: boolean;
  /** Which stations stay where there are too many: those with the lowest. */
  rank: number;
  port: number;
  seenMs: number;
  flappedMs: number | undefined;
}

export class Stations {
  readonly #query: StationQuery;
  readonly #stations = new Map<string, Station>();
  /** When addresses were last learned at a port of the node. The oldest is first. */
  readonly #local = new Map<string, number>();
  /** When addresses came to an uplink from a port of the node: the last few times. The address that moved longest ago is first. */
  readonly #moves = new Map<string, readonly number[]>();
  /** Rank that a station has to be below to get in; undefined while there is room. */
  #limit: number | undefined;
  #counted = 0;

  /** Whether stations came, went, or began to flap since `print`. */
  isChanged = true;

  constructor(query: StationQuery) {
    this.#query = query;
  }

  get isEmpty(): boolean {
    return this.#stations.size === 0;
  }

  /** A bridge has just learned the address: for the first time, or at another port than before. */
  learned(learned: LearnedAddress, isUplink: boolean, nowMs: number): void {
    const key = keyOf(learned);
    if (!isUplink) {
      setLast(this.#local, key, nowMs);
      return;
    }
    const hasMoved = nowMs - (this.#local.get(key) ?? Number.NEGATIVE_INFINITY) <= WITHIN_MS;
    this.#local.delete(key);
    const hasFlapped = hasMoved && this.#move(key, nowMs);
    // Of an address outside the ranges only the node whose port has it says anything, and only that it has a twin.
    if (!hasFlapped && !this.#isInRange(learned.mac) && !this.#stations.has(key)) return;
    const station = this.#see(key, learned, nowMs, hasMoved);
    if (station === undefined || !hasFlapped) return;
    if (station.flappedMs === undefined || nowMs - station.flappedMs > KEEP_MS) this.isChanged = true;
    station.flappedMs = nowMs;
  }

  /** Whether the address moved often enough. */
  #move(key: string, nowMs: number): boolean {
    const moves = [...(this.#moves.get(key) ?? []), nowMs].slice(-MOVES);
    setLast(this.#moves, key, moves);
    return moves.length === MOVES && nowMs - (moves[0] ?? nowMs) <= WITHIN_MS;
  }

  /** A dump of the uplinks begins. */
  beginDump(nowMs: number): void {
    this.#counted = 0;
    for (const [key, { seenMs, flappedMs = seenMs, isInRange }] of this.#stations) {
      if (nowMs - (isInRange ? seenMs : flappedMs) > KEEP_MS) this.#remove(key);
    }
  }

  /** An entry of the dump. */
  listed(learned: LearnedAddress, nowMs: number): void {
    const key = keyOf(learned);
    if (learned.ageMs > KEEP_MS || !(this.#isInRange(learned.mac) || this.#stations.has(key))) return;
    this.#counted += 1;
    this.#see(key, learned, nowMs - learned.ageMs, false);
  }

  /** What is seen, and how many more the last dump had. */
  print(nowMs: number): { stations: PrintedStation[]; more: number } {
    this.isChanged = false;
    const secondsSince = (ms: number): number => Math.round((nowMs - ms) / 1000);
    const stations = [...this.#stations.values()].map(({ mac, port, vlan, seenMs, flappedMs }): PrintedStation => {
      const flapAge = flappedMs === undefined || nowMs - flappedMs > KEEP_MS ? -1 : secondsSince(flappedMs);
      return [mac, port, vlan, secondsSince(seenMs), flapAge];
    });
    return { stations, more: Math.max(0, this.#counted - stations.length) };
  }

  /** Undefined where there is no room. */
  #see(key: string, learned: LearnedAddress, seenMs: number, hasMoved: boolean): Station | undefined {
    const station = this.#stations.get(key) ?? this.#add(key, learned, hasMoved);
    if (station === undefined) return undefined;
    if (station.port !== learned.port) this.isChanged = true;
    station.port = learned.port;
    station.seenMs = Math.max(station.seenMs, seenMs);
    if (hasMoved) {
      station.rank = FIRST;
      this.#limit = undefined;
    }
    return station;
  }

  #add(key: string, { mac, vlan }: LearnedAddress, hasMoved: boolean): Station | undefined {
    const rank = hasMoved ? FIRST : rankOf(mac, this.#query.seed);
    if (this.#stations.size >= MAX_STATIONS) {
      this.#limit ??= Math.max(...Array.from(this.#stations.values(), (one) => one.rank));
      if (rank >= this.#limit) return undefined;
      for (const [other, station] of this.#stations) {
        if (station.rank !== this.#limit) continue;
        this.#remove(other);
        break;
      }
    }
    this.#limit = undefined;
    this.isChanged = true;
    const station: Station = {
      mac,
      vlan,
      isInRange: this.#isInRange(mac),
      rank,
      port: 0,
      seenMs: Number.NEGATIVE_INFINITY,
      flappedMs: undefined,
    };
    this.#stations.set(key, station);
    return station;
  }

  #remove(key: string): void {
    this.#stations.delete(key);
    this.#limit = undefined;
    this.isChanged = true;
  }

  #isInRange(mac: number): boolean {
    const { ranges } = this.#query;
    let [low, high] = [0, ranges.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [start, end] = ranges[middle] ?? [0, 0];
      if (mac < start) high = middle - 1;
      else if (mac > end) low = middle + 1;
      else return true;
    }
    return false;
  }
}

/** What a bridge tells its entries apart by. */
function keyOf({ mac, vlan, bridge }: LearnedAddress): string {
  return `${mac}/${vlan}/${bridge}`;
}

/** A number of 32 bits that looks random: the finalizer of MurmurHash3. */
function rankOf(mac: number, seed: number): number {
  let hash = (mac % 2 ** 32) ^ seed ^ Math.floor(mac / 2 ** 32);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** As the youngest entry; the oldest makes room for it. */
function setLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next().value;
  if (map.size > MAX_LOCAL && oldest !== undefined) map.delete(oldest);
}
