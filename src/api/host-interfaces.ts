import { formatMac, isMulticast, type Mac, parseMac } from "./mac.ts";
import type { MacRange } from "./mac-range.ts";
import type { NodeMACs } from "./node-macs.ts";
import { MAX_NODE_MACS } from "./node-report.ts";
import { MAX_STATIONS } from "./node-state.ts";

/** What reports of nodes say about an address, and how the pool and its command line word it. */

/** Interfaces that a text names; each node of a cluster can have one. */
const MAX_NAMED = 3;

/** Who has an address on the wire that no object and no node of the cluster has. */
export const STATION = "station outside the cluster";
export const STATIONS = "stations outside the cluster";

/** A node reports every ten minutes what it saw in the ten minutes before. What is older comes from a report that nobody writes any more. */
export const STATION_FRESH_MS = 30 * 60_000;

/** What to do about an address that an object and a node have. */
export const HOST_CONFLICT_ADVICE = "They disturb each other on the same network. Give one of them another address.";

/** An interface of a node itself: a physical one or a bond. */
export interface HostInterface {
  readonly node: string;
  readonly interface: string;
  /** It is not the interface that has the address, but somebody beyond it whom the cluster does not know. */
  readonly isBeyond?: boolean;
}

/** What a node has seen beyond an uplink, and when by its own clock. */
export interface ReportedStation {
  readonly mac: Mac;
  readonly host: HostInterface;
  readonly seenMs: number;
}

/** A report counts only while its node lives: one that the node does not own, which nothing would remove, says nothing. */
export function isOfItsNode({ metadata }: Pick<NodeMACs, "metadata">): boolean {
  return metadata.ownerReferences?.some(({ kind, name }) => kind === "Node" && name === metadata.name) ?? false;
}

/** The interfaces of a node by their addresses, as its NodeMACs says. An address that no interface can have says nothing. */
export function addressesIn(report: NodeMACs): ReadonlyMap<Mac, string> {
  const found = new Map<Mac, string>();
  if (!isOfItsNode(report)) return found;
  for (const address of (report.addresses ?? []).slice(0, MAX_NODE_MACS)) {
    const mac = parseMac(address.mac);
    if (mac !== undefined && mac !== 0 && !isMulticast(mac)) found.set(mac, address.interface);
  }
  return found;
}

/** What the node sees beyond its uplinks, as its NodeMACs says. */
export function stationsIn(report: NodeMACs): readonly ReportedStation[] {
  if (!isOfItsNode(report)) return [];
  const node = report.metadata.name ?? "";
  return (report.stations ?? []).slice(0, MAX_STATIONS).flatMap(({ mac: text, uplink, lastSeen }) => {
    const [mac, seenMs] = [parseMac(text), Date.parse(lastSeen)];
    if (mac === undefined || mac === 0 || isMulticast(mac) || Number.isNaN(seenMs)) return [];
    return [{ mac, host: { node, interface: uplink, isBeyond: true }, seenMs }];
  });
}

/** `interface eno1 of node node-a and interface bond0 of node node-b`, or `a station outside the cluster, seen at uplink eno2 of node node-a`. */
export function describeHosts(hosts: readonly HostInterface[]): string {
  const named = hosts
    .slice(0, MAX_NAMED)
    .map(
      (host) =>
        `${host.isBeyond ? `a ${STATION}, seen at uplink` : "interface"} ${host.interface} of node ${host.node}`,
    );
  const more = hosts.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(" and ");
}

/** The same for who may know no node: those and their interfaces are of the whole cluster. */
export function describeHostsUnnamed(hosts: readonly HostInterface[]): string {
  return hosts.some(({ isBeyond }) => isBeyond) ? `a ${STATION}` : "an interface of a node";
}

/** Stations with addresses of a range, and one of them. */
export interface StationsOfRange {
  readonly count: number;
  readonly mac: string;
  readonly node: string;
  readonly uplink: string;
}

/** So many in a range are not one appliance that was given an address by hand. */
export const MANY_STATIONS = 16;

/** What to do about them. */
export const STATIONS_ADVICE = "Give one of the clusters another range: kubectl macpool ranges --suggest proposes one.";

/** Undefined where there is none. */
export function stationsOfRange(
  stations: Iterable<readonly [Mac, HostInterface]>,
  { start, end }: MacRange,
): StationsOfRange | undefined {
  let [count, example] = [0, undefined as Omit<StationsOfRange, "count"> | undefined];
  for (const [mac, host] of stations) {
    if (mac < start || mac > end) continue;
    count += 1;
    example ??= { mac: formatMac(mac), node: host.node, uplink: host.interface };
  }
  return example && { count, ...example };
}

/** `17 stations outside the cluster use addresses of this range (...): does another cluster have this range?` */
export function describeStations({ count, mac, node, uplink }: StationsOfRange): string {
  const who =
    count === 1 ? `1 ${STATION} uses an address` : `${count.toLocaleString("en-US")} ${STATIONS} use addresses`;
  const which = `${count === 1 ? "" : "for example "}${mac} on ${node}, uplink ${uplink}`;
  return `${who} of this range (${which}): does another cluster have this range?`;
}

/** `hosts`: in words, as `describeHosts` has them. */
export function describeHostConflict(mac: string, hosts: string): string {
  return `${mac} is also the address of ${hosts}.`;
}
