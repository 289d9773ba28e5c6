import { Stations } from "../../cni-plugins/link-monitor/stations.ts";
import type { LearnedAddress } from "../../cni-plugins/netlink/neighbour.ts";
import { stationsIn } from "../../src/api/host-interfaces.ts";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import type { NodeMACs, NodeStation } from "../../src/api/node-macs.ts";
import { flapsOf, isElsewhere, type Seat, seatOf } from "../../src/api/seen-elsewhere.ts";
import { PoolIndex } from "../../src/mac-pool/pools/pool-index.ts";
import { Segments } from "../../src/mac-pool/pools/segments.ts";
import type { Random } from "../support/random.ts";

export const FIRST = 0x02_5d_1c_00_00_00 as Mac;
export const SIZE = 256;
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
const LAST = (FIRST + SIZE - 1) as Mac;
const EPOCH_MS = Date.UTC(2026, 0, 2);
const NODES = ["node-a", "node-b", "node-c"] as const;
type NodeName = (typeof NODES)[number];
const [BRIDGE, UPLINK, TAP] = [2, 3, 9];
/** Of the kernel's forwarding tables. */
const AGEING_MS = 5 * MINUTE_MS;
const CLOCK_ERROR_MS = 20 * SECOND_MS;
const QUARANTINES_MS = [0, 30 * SECOND_MS];

const timeAt = (ms: number): string => `${new Date(EPOCH_MS + ms).toISOString().slice(0, 19)}Z`;

/** A node's bridge with the product's eyes on it, and what its marker reports. */
class Bridge {
  report: NodeMACs;
  readonly #table = new Map<number, { port: number; seenMs: number }>();
  readonly #stations: Stations;
  readonly #errorMs: number;
  readonly #metadata: NodeMACs["metadata"];

  constructor(name: string, random: Random) {
    this.#stations = new Stations({ ranges: [[FIRST, LAST]], seed: random.below(1_000) });
    this.#errorMs = random.between(-CLOCK_ERROR_MS, CLOCK_ERROR_MS);
    this.#metadata = { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: name }] };
    this.report = { metadata: this.#metadata, addresses: [] };
  }

  /** The kernel announces what it learns for the first time, or elsewhere. */
  frame(mac: number, port: number, nowMs: number): void {
    const known = this.#table.get(mac);
    this.#table.set(mac, { port, seenMs: nowMs });
    if (known?.port === port && nowMs - known.seenMs <= AGEING_MS) return;
    this.#stations.learned(entry(mac, port, 0), port === UPLINK, nowMs);
  }

  look(nowMs: number): void {
    this.#stations.beginDump(nowMs);
    for (const [mac, { port, seenMs }] of this.#table) {
      const ageMs = nowMs - seenMs;
      if (port === UPLINK && ageMs <= AGEING_MS) this.#stations.listed(entry(mac, port, ageMs), nowMs);
    }
    const before = (seconds: number): string => timeAt(nowMs + this.#errorMs - seconds * SECOND_MS);
    const stations = this.#stations.print(nowMs).stations.map(([number, , , age, flapAge]): NodeStation => {
      const place = { mac: formatMac(number as Mac), bridge: "br1", uplink: "eno2", lastSeen: before(age) };
      return flapAge < 0 ? place : { ...place, lastFlap: before(flapAge) };
    });
    this.report = { metadata: this.#metadata, addresses: [], stations };
  }
}

const entry = (mac: number, port: number, ageMs: number): LearnedAddress => ({
  mac,
  port,
  bridge: BRIDGE,
  vlan: 0,
  ageMs,
});

export interface Guest {
  readonly mac: Mac;
  /** Where its frames come from; undefined while it does not run. */
  at: NodeName | undefined;
  /** Where its VMI says that it runs. */
  node: NodeName | undefined;
  createdMs: number;
  /** Undefined: there was no live migration. Without an end it lasts. */
  migration: { endedMs?: number } | undefined;
}

/** Three nodes on one wire, their VMs, stations that are none of ours, and the pool. */
export class Wire {
  nowMs = 0;
  readonly index = new PoolIndex();
  readonly guests = new Set<Guest>();
  /** Stations outside the cluster by their address, and until when they speak. */
  readonly outside = new Map<Mac, number>();
  readonly #random: Random;
  readonly #bridges = new Map<NodeName, Bridge>();
  /** When a guest with the address was last where it is not any more. */
  readonly #departedMs = new Map<Mac, number>();
  readonly #later: { readonly atMs: number; readonly call: () => void }[] = [];

  constructor(random: Random) {
    this.#random = random;
    for (const name of NODES) this.#bridges.set(name, new Bridge(name, random));
    const policy = {
      namespaceSelector: undefined,
      conflictPolicy: "Deny",
      quarantineMs: 0,
      pendingMs: 0,
      createdAtMs: 0,
    } as const;
    this.index.setPool({ name: "default", segments: new Segments([{ start: FIRST, end: LAST }]), ...policy });
  }

  /** A second passes: what runs speaks now and then, and each minute the nodes report. */
  pass(): void {
    this.nowMs += SECOND_MS;
    const due = this.#later.filter(({ atMs }) => atMs <= this.nowMs);
    for (const one of due) this.#later.splice(this.#later.indexOf(one), 1);
    for (const { call } of due) call();
    for (const { mac, at } of this.guests) if (at !== undefined && this.#random.chance(0.3)) this.#speak(mac, at);
    for (const [mac, untilMs] of this.outside) {
      if (untilMs > this.nowMs && this.#random.chance(0.3)) this.#speak(mac, undefined);
    }
    if (this.nowMs % MINUTE_MS !== 0) return;
    for (const [name, bridge] of this.#bridges) {
      bridge.look(this.nowMs);
      this.index.setStations(name, stationsIn(bridge.report), EPOCH_MS + this.nowMs, (mac) => this.#has(mac));
    }
  }

  /** An address that the pool chooses, or the one that is asked for. The VM starts in a moment. */
  create(asked?: Mac): Guest | undefined {
    const pool = this.index.pool("default");
    const mac = asked ?? (pool && this.index.draw(pool, this.#random.next(), this.nowMs));
    if (mac === undefined || this.index.claim(mac) !== undefined) return undefined;
    const facts = { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: ["shop"], untilMs: 0 };
    this.index.setClaim(mac, facts, EPOCH_MS + this.nowMs);
    const guest: Guest = { mac, at: undefined, node: undefined, createdMs: 0, migration: undefined };
    this.guests.add(guest);
    this.start(guest);
    return guest;
  }

  /** A VM that has the address of another one, as a policy may allow. */
  share({ mac }: Guest): void {
    const guest: Guest = { mac, at: undefined, node: undefined, createdMs: 0, migration: undefined };
    this.guests.add(guest);
    this.start(guest);
  }

  start(guest: Guest): void {
    this.#soon(30, () => {
      if (!this.guests.has(guest) || guest.at !== undefined) return;
      guest.at = guest.node = this.#random.pick(NODES);
      guest.createdMs = this.nowMs;
      guest.migration = undefined;
    });
  }

  stop(guest: Guest): void {
    if (guest.node !== undefined) this.#departedMs.set(guest.mac, this.nowMs);
    guest.at = guest.node = undefined;
  }

  /** The guest goes on elsewhere before its VMI says so, or the migration fails. */
  migrate(guest: Guest): void {
    const isMigrating = guest.migration !== undefined && guest.migration.endedMs === undefined;
    if (guest.at === undefined || isMigrating) return;
    const target = this.#random.chance(0.2) ? guest.at : this.#random.pick(NODES);
    const { createdMs } = guest;
    const goesOn = (): boolean => guest.at !== undefined && guest.createdMs === createdMs;
    guest.migration = {};
    this.#soon(20, () => {
      if (goesOn()) guest.at = target;
      this.#soon(10, () => {
        if (!goesOn()) return;
        if (guest.node !== target) this.#departedMs.set(guest.mac, this.nowMs);
        guest.node = target;
        guest.migration = { endedMs: this.nowMs };
      });
    });
  }

  /** A node forgets all that it has learned, and its VMs start elsewhere. */
  reboot(): void {
    const name = this.#random.pick(NODES);
    this.#bridges.set(name, new Bridge(name, this.#random));
    for (const guest of this.guests) {
      if (guest.at !== name && guest.node !== name) continue;
      this.stop(guest);
      this.start(guest);
    }
  }

  delete(guest: Guest): void {
    this.stop(guest);
    this.guests.delete(guest);
    const { mac } = guest;
    if (this.#has(mac)) return;
    this.#later.push({
      atMs: this.nowMs + this.#random.pick(QUARANTINES_MS),
      call: () => {
        this.index.deleteClaim(mac);
        this.index.release(mac, EPOCH_MS + this.nowMs);
      },
    });
  }

  /** Whether the pool would report the guest: `MACSeenElsewhere`. */
  isAlarmed(guest: Guest): boolean {
    const { mac } = guest;
    const flaps = flapsOf(
      mac,
      [...this.#bridges.values()].map(({ report }) => report),
    );
    if (flaps.length === 0) return false;
    const seats = [...this.guests].filter((one) => one.mac === mac && one.node !== undefined).map(seatOfGuest);
    const departedMs = EPOCH_MS + (this.#departedMs.get(mac) ?? 0);
    return flaps.some((flap) => isElsewhere(seatOfGuest(guest), flap, seats, departedMs));
  }

  #has(mac: Mac): boolean {
    return [...this.guests].some((guest) => guest.mac === mac);
  }

  /** From a port of that node, or from beyond all. */
  #speak(mac: Mac, from: NodeName | undefined): void {
    for (const [name, bridge] of this.#bridges) bridge.frame(mac, name === from ? TAP : UPLINK, this.nowMs);
  }

  #soon(mostSeconds: number, call: () => void): void {
    this.#later.push({ atMs: this.nowMs + Math.ceil(this.#random.between(0, mostSeconds)) * SECOND_MS, call });
  }
}

function seatOfGuest({ node, createdMs, migration }: Guest): Seat | undefined {
  const migrated = migration && (migration.endedMs === undefined ? "" : timeAt(migration.endedMs));
  return seatOf({ node, created: timeAt(createdMs), migrated });
}
