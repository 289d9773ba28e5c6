import { isOfItsNode, STATION } from "./host-interfaces.ts";
import { formatMac, type Mac } from "./mac.ts";
import type { NodeMACs, NodeStation } from "./node-macs.ts";

/**
 * An address that an object of this cluster has on a node, and somebody beyond an uplink of that node too. Pure.
 *
 * Frames of VMs on other nodes come over the uplinks as well. So only what a node has found on both sides again and again
 * counts, and only while the object has been there for long enough: before and after a live migration, a VM is where it just was.
 */

/** What is found within that time after an object came to its node, or another one left, may be ours from where it was before. */
const GRACE_MS = 60_000;

/** Where an object runs, and since when. */
export interface Seat {
  readonly node: string;
  readonly sinceMs: number;
}

interface SeatFacts {
  /** Undefined or empty where nobody says it. */
  readonly node: string | undefined;
  readonly created: string | undefined;
  /** End of the last live migration: empty while it lasts, undefined where there was none. */
  readonly migrated: string | undefined;
}

/** Undefined while the object migrates, or where nobody says where it runs. */
export function seatOf({ node, created, migrated }: SeatFacts): Seat | undefined {
  const migratedMs = Date.parse(migrated ?? "");
  if (node === undefined || node === "" || (migrated !== undefined && Number.isNaN(migratedMs))) return undefined;
  return { node, sinceMs: Math.max(Date.parse(created ?? "") || 0, migratedMs || 0) };
}

/** The same of a VMI as the API server tells it. */
export function seatOfInstance(vmi: SeatedInstance | undefined): Seat | undefined {
  const migration = vmi?.status?.migrationState;
  return seatOf({
    node: vmi?.status?.nodeName,
    created: vmi?.metadata.creationTimestamp,
    migrated: migration && (migration.endTimestamp ?? ""),
  });
}

export function seatOfPod(pod: SeatedPod | undefined): Seat | undefined {
  return seatOf({ node: pod?.spec?.nodeName, created: pod?.metadata.creationTimestamp, migrated: undefined });
}

interface Created {
  readonly metadata: { readonly creationTimestamp?: string | undefined };
}

interface SeatedInstance extends Created {
  readonly status?: { readonly nodeName?: string; readonly migrationState?: { readonly endTimestamp?: string } };
}

interface SeatedPod extends Created {
  readonly spec?: { readonly nodeName?: string };
}

export interface Flap {
  readonly node: string;
  readonly station: Omit<NodeStation, "mac">;
}

/** Where a station is: what a reader is told of it. */
export function placeOfStation({ node, station }: Flap): { readonly node: string } & Flap["station"] {
  const { bridge, uplink, vlan, lastSeen, lastFlap } = station;
  return {
    ...{ node, bridge, uplink, lastSeen },
    ...(vlan === undefined ? {} : { vlan }),
    ...(lastFlap === undefined ? {} : { lastFlap }),
  };
}

/** Addresses that the node has found on both sides of an uplink. */
export function flappingMacs({ stations = [] }: NodeMACs): string[] {
  return [...new Set(stations.flatMap(({ mac, lastFlap }) => (lastFlap === undefined ? [] : [mac])))];
}

/** What the reports say of the address; those with a Node that is gone say nothing. */
export function flapsOf(mac: Mac, reports: readonly NodeMACs[]): Flap[] {
  const text = formatMac(mac);
  return reports
    .filter(isOfItsNode)
    .flatMap(({ metadata: { name: node = "" }, stations = [] }) =>
      stations
        .filter((station) => station.mac === text && station.lastFlap !== undefined)
        .map((station) => ({ node, station })),
    );
}

/**
 * Whether somebody else has the address of the object that sits there. `seats`: of all objects with the address. Frames of one
 * that sits on another node come over the uplink too. `departedMs`: when one of them left.
 */
export function isElsewhere(
  seat: Seat | undefined,
  { node, station: { lastFlap = "" } }: Flap,
  seats: readonly (Seat | undefined)[] = [],
  departedMs = 0,
): boolean {
  if (seat === undefined || seat.node !== node || seats.some((other) => other?.node !== node)) return false;
  return Date.parse(lastFlap) > Math.max(seat.sinceMs, departedMs) + GRACE_MS;
}

/** What to do about it. */
export const SEEN_ELSEWHERE_ADVICE =
  "Give one of them another address. If nobody else has it, the network sends frames back: look for a loop.";

/** `MAC 02:... is also used by a station outside the cluster: it was seen at ..., last at ...` */
export function describeSeenElsewhere(mac: Mac, { node, station }: Flap): string {
  const { uplink, bridge, vlan, lastFlap } = station;
  const where = `${vlan === undefined ? "" : `VLAN ${vlan} of `}uplink ${uplink} of bridge ${bridge} on node ${node}`;
  return `MAC ${formatMac(mac)} is also used by a ${STATION}: it was seen at ${where} again and again, last at ${lastFlap}`;
}

/** Event on the object. */
export function seenElsewhere(mac: Mac, flap: Flap): string {
  return `${describeSeenElsewhere(mac, flap)}. ${SEEN_ELSEWHERE_ADVICE}`;
}
