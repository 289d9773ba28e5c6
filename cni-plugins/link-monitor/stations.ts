/** Which addresses of the pools' ranges are seen beyond the uplinks of a node. Time is an argument; pure. */

import { MAX_STATIONS } from "../../src/api/node-state.ts";
import type { LearnedAddress } from "../netlink/neighbour.ts";

/** Longer than the five minutes for which a bridge remembers a station that is silent. */
const KEEP_MS = 10 * 60_000;
/** An address that moves from a port of the node to an uplink so often within that time is used on both sides. */
const MOVES = 3;
const WITHIN_MS = 60_000;
/** Addresses at ports of the node whose last move is remembered. */
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
  /** Which stations stay where there are too many: those with the lowest. */
  rank: number;
  port: number;
  seenMs: number;
  /** When it came to the uplink from a port of the node: the last few times. */
  moves: readonly number[];
  flappedMs: number | undefined;
}

export class Stations {
  readonly #query: StationQuery;
  readonly #stations = new Map<string, Station>();
  /** When addresses were last learned at a port of the node. The oldest is first. */
  readonly #local = new Map<string, number>();
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
    if (!this.#isInRange(learned.mac)) return;
    const key = keyOf(learned);
    if (!isUplink) {
      this.#local.delete(key);
      this.#local.set(key, nowMs);
      const oldest = this.#local.keys().next().value;
      if (this.#local.size > MAX_LOCAL && oldest !== undefined) this.#local.delete(oldest);
      return;
    }
    const localMs = this.#local.get(key) ?? Number.NEGATIVE_INFINITY;
    this.#local.delete(key);
    this.#see(key, learned, nowMs, nowMs - localMs <= WITHIN_MS ? nowMs : undefined);
  }

  /** A dump of the uplinks begins. */
  beginDump(nowMs: number): void {
    this.#counted = 0;
    for (const [key, { seenMs }] of this.#stations) if (nowMs - seenMs > KEEP_MS) this.#remove(key);
  }

  /** An entry of the dump. */
  listed(learned: LearnedAddress, nowMs: number): void {
    if (learned.ageMs > KEEP_MS || !this.#isInRange(learned.mac)) return;
    this.#counted += 1;
    this.#see(keyOf(learned), learned, nowMs - learned.ageMs, undefined);
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

  #see(key: string, { mac, port, vlan }: LearnedAddress, seenMs: number, movedMs: number | undefined): void {
    const known = this.#stations.get(key);
    const station = known ?? this.#add(key, mac, vlan, movedMs === undefined ? rankOf(mac, this.#query.seed) : FIRST);
    if (station === undefined) return;
    if (station.port !== port) this.isChanged = true;
    station.port = port;
    station.seenMs = Math.max(station.seenMs, seenMs);
    if (movedMs === undefined) return;
    station.rank = FIRST;
    this.#limit = undefined;
    station.moves = [...station.moves, movedMs].slice(-MOVES);
    const [earliest = movedMs] = station.moves;
    if (station.moves.length < MOVES || movedMs - earliest > WITHIN_MS) return;
    if (station.flappedMs === undefined || movedMs - station.flappedMs > KEEP_MS) this.isChanged = true;
    station.flappedMs = movedMs;
  }

  /** Undefined where there is no room. */
  #add(key: string, mac: number, vlan: number, rank: number): Station | undefined {
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
      rank,
      port: 0,
      seenMs: Number.NEGATIVE_INFINITY,
      moves: [],
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
