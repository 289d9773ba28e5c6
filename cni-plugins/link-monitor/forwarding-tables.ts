/**
 * Follows what the bridges of the node learn at their uplinks, without sending a frame. It has a socket of its own: a storm
 * of stations loses no event of a link. Nothing happens until ranges of addresses are given.
 */

import type { Syscalls } from "../native/syscalls.ts";
import { ENOBUFS } from "../netlink/errno.ts";
import { dumpLearned, readLearned } from "../netlink/neighbour.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import * as nl from "../netlink/rtnetlink.ts";
import { type StationQuery, Stations } from "./stations.ts";

/** A bridge announces a station only when it is new or has moved. The dump says which of the others are still there. */
const DUMP_MS = 60_000;
/** The earliest dump after another one, when events were lost. */
const DUMP_AGAIN_MS = 10_000;
const PRINT_MS = 10_000;
/** After events, the next ones are read together. */
const REST_MS = 100;
/** What one reading takes at most, so that links are followed too. */
const EVENTS_AT_ONCE = 1000;

interface ForwardingTablesOptions {
  readonly syscalls: Syscalls;
  readonly requests: NetlinkSocket;
  /** Indexes of the ports that lead out of the node. */
  readonly uplinks: () => ReadonlySet<number>;
  readonly print: (event: object) => void;
}

export class ForwardingTables {
  readonly #options: ForwardingTablesOptions;
  #stations: Stations | undefined;
  #events: NetlinkSocket | undefined;
  #dumpedAt = Number.NEGATIVE_INFINITY;
  #dumpAt = Number.POSITIVE_INFINITY;
  #printAt = Number.NEGATIVE_INFINITY;
  /** Until when events wait; undefined while none have come. */
  #restUntil: number | undefined;

  constructor(options: ForwardingTablesOptions) {
    this.#options = options;
  }

  /** To wait for; -1 while there is nothing to wait for. */
  get fd(): number {
    return this.#restUntil === undefined ? (this.#events?.fd ?? -1) : -1;
  }

  /** When `step` has something to do without an event. */
  get nextAt(): number {
    if (this.#events === undefined) return Number.POSITIVE_INFINITY;
    const printAt = this.#stations?.isChanged ? this.#printAt : Number.POSITIVE_INFINITY;
    return Math.min(this.#dumpAt, this.#restUntil ?? Number.POSITIVE_INFINITY, printAt);
  }

  /** From now on these addresses are looked for. What was seen before is forgotten; the dump finds it again. */
  follow(query: StationQuery): void {
    const { syscalls, print } = this.#options;
    if (query.ranges.length === 0) {
      this.#events?.close();
      [this.#events, this.#stations, this.#restUntil] = [undefined, undefined, undefined];
      print({ event: "stations", stations: [], more: 0 });
      return;
    }
    this.#stations = new Stations(query);
    this.#events ??= new NetlinkSocket(syscalls, -1, nl.RTMGRP_NEIGH);
    this.#dumpAt = syscalls.monotonicMs();
  }

  /** `isReadable`: there are events. */
  step(isReadable: boolean): void {
    const stations = this.#stations;
    if (stations === undefined) return;
    const nowMs = this.#options.syscalls.monotonicMs();
    if (isReadable || nowMs >= (this.#restUntil ?? Number.POSITIVE_INFINITY)) this.#read(stations, nowMs);
    if (nowMs >= this.#dumpAt) this.#dump(stations, nowMs);
    if (stations.isChanged && nowMs >= this.#printAt) this.#print(stations, nowMs);
  }

  #read(stations: Stations, nowMs: number): void {
    const uplinks = this.#options.uplinks();
    let count = 0;
    try {
      for (let read = -1; read !== 0 && count < EVENTS_AT_ONCE; count += read) {
        const messages = this.#events?.receiveEvents() ?? [];
        read = messages.length;
        for (const message of messages) {
          const learned = readLearned(message);
          if (learned !== undefined) stations.learned(learned, uplinks.has(learned.port), nowMs);
        }
      }
    } catch (error) {
      if (errnoOf(error) !== ENOBUFS) throw error;
      this.#events?.dropEvents();
      this.#dumpAt = Math.min(this.#dumpAt, Math.max(nowMs, this.#dumpedAt + DUMP_AGAIN_MS));
      count = 1;
    }
    this.#restUntil = count === 0 ? undefined : nowMs + REST_MS;
  }

  /** An uplink that has just gone, and a list that changed meanwhile, do no harm: the next dump comes soon. */
  #dump(stations: Stations, nowMs: number): void {
    const { requests, uplinks } = this.#options;
    stations.beginDump(nowMs);
    for (const port of uplinks()) {
      requests.transact(dumpLearned(requests.batch(), port), (message) => {
        const learned = readLearned(message);
        if (learned?.port === port) stations.listed(learned, nowMs);
      });
    }
    this.#dumpedAt = nowMs;
    this.#dumpAt = nowMs + DUMP_MS;
    if (stations.isChanged || !stations.isEmpty) this.#print(stations, nowMs);
  }

  #print(stations: Stations, nowMs: number): void {
    this.#options.print({ event: "stations", ...stations.print(nowMs) });
    this.#printAt = nowMs + PRINT_MS;
  }
}

/** One line of what the daemon says; undefined for any other. */
export function readQuery(line: string): StationQuery | undefined {
  try {
    const { ranges, seed }: { ranges?: unknown; seed?: unknown } = JSON.parse(line);
    const isRange = (range: unknown): boolean =>
      Array.isArray(range) && range.length === 2 && range.every((end) => typeof end === "number");
    if (!Array.isArray(ranges) || !ranges.every(isRange) || typeof seed !== "number") return undefined;
    return { ranges, seed };
  } catch {
    return undefined;
  }
}
