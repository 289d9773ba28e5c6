import { existsSync } from "node:fs";
import { join } from "node:path";
import { formatMac, isMulticast, macFromNumber, parseMac } from "../api/mac.ts";
import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";
import type { NodeBridge, NodeMac, NodeStation, NodeUplink } from "../api/node-macs.ts";
import { MAX_NODE_BRIDGES, MAX_NODE_MACS, MAX_UPLINKS, shownInterface } from "../api/node-report.ts";
import type { Link, SeenStation, SeenStations } from "../links/link-event.ts";
import { LinkTable } from "../links/link-table.ts";
import { type BridgeResources, type BridgeSelection, bridgeResources } from "./bridge-resources.ts";

const INTERFACES = "/sys/class/net";

/** Kinds of rtnetlink that put physical interfaces together under one address. */
const BONDS = ["bond", "team"];

export interface HostAddresses {
  readonly addresses: readonly NodeMac[];
  /** How many more the node has. */
  readonly omitted: number;
}

export interface StationReport {
  /** By address. */
  readonly stations: readonly NodeStation[];
  /** How many more the node sees. */
  readonly more: number;
}

/** The node's links, and what the marker publishes and reports of them. Of the thousands of veths nothing is kept. */
export class NodeLinks extends LinkTable {
  readonly #selection: BridgeSelection;
  #seen: SeenStations = { stations: [], more: 0 };
  #seenAtMs = 0;

  /** `isVirtual`: whether the interface of that name is a virtual function. */
  constructor(selection: BridgeSelection, isVirtual = isVirtualFunction) {
    super((link) => publishedPart(link, selection.onlyWithPorts, isVirtual));
    this.#selection = selection;
  }

  /** `nowMs`: by the wall clock. */
  setStations(seen: SeenStations, nowMs: number): void {
    this.#seen = seen;
    this.#seenAtMs = nowMs;
  }

  /** Stations beyond the uplinks of published bridges. */
  stations(): StationReport {
    const { links } = this;
    const published = this.resources().keys;
    const stations = this.#seen.stations.flatMap((seen) => stationOf(seen, links, published, this.#seenAtMs));
    const orderOf = ({ mac, bridge, vlan = 0 }: NodeStation): string => `${mac} ${vlan} ${bridge}`;
    return {
      stations: stations.sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1)),
      more: this.#seen.more,
    };
  }

  resources(): BridgeResources {
    return bridgeResources(this.links, this.#selection);
  }

  /** How the published bridges are set. */
  bridges(): NodeBridge[] {
    return bridgeSettings(this.links, this.resources().keys);
  }

  hostAddresses(): HostAddresses {
    return hostAddresses(this.links);
  }
}

/**
 * Ports that lead to pods are followed only where they matter. The address of a bridge does not. That of a virtual function does not either:
 * one that is back from a VM may still have the VM's.
 */
function publishedPart(link: Link, withPorts: boolean, isVirtual: (name: string) => boolean): Link | undefined {
  const { index, name, kind, mtu, details } = link;
  const isUplink = details?.carrier !== undefined;
  const master = withPorts || isUplink ? link.master : 0;
  const part = { index, name, kind, master, mac: "", permanentMac: undefined };
  if (kind === "bridge") return { ...part, mtu, vlanFiltering: link.vlanFiltering ?? false, details };
  const port = isUplink ? { ...part, mtu, details } : part;
  if (BONDS.includes(kind) || (kind === "" && !isVirtual(name))) {
    return { ...port, mac: link.mac, permanentMac: link.permanentMac };
  }
  return master === 0 ? undefined : port;
}

/** Of the bridges whose resource is among `published`, by the index of the link; as many as a node may report. */
function bridgeSettings(links: readonly Link[], published: ReadonlySet<string>): NodeBridge[] {
  return links
    .flatMap(({ index, name, kind, mtu, vlanFiltering = false, details }) => {
      if (kind !== "bridge" || mtu === undefined || !published.has(BRIDGE_RESOURCE_PREFIX + name)) return [];
      const { defaultVlan, canFilterVlans, spanningTree = false, hasAddress = false } = details ?? {};
      return [
        {
          name,
          mtu,
          vlanFiltering,
          ...(canFilterVlans === undefined ? {} : { canFilterVlans }),
          ...(defaultVlan === undefined ? {} : { defaultVlan }),
          spanningTree,
          hasAddress,
          uplinks: uplinksOf(links.filter(({ master }) => master === index)),
        },
      ];
    })
    .slice(0, MAX_NODE_BRIDGES);
}

function uplinksOf(ports: readonly Link[]): NodeUplink[] {
  return ports
    .flatMap(({ name, mtu, details }) => {
      if (mtu === undefined || details?.carrier === undefined) return [];
      const { carrier, vlans, untaggedVlan } = details;
      return [
        {
          name: shownInterface(name),
          carrier,
          mtu,
          ...(vlans === undefined ? {} : { vlans: [...vlans] }),
          ...(untaggedVlan === undefined ? {} : { untaggedVlan }),
        },
      ];
    })
    .slice(0, MAX_UPLINKS);
}

function stationOf(
  { mac: number, port, vlan, age, flapAge }: SeenStation,
  links: readonly Link[],
  published: ReadonlySet<string>,
  nowMs: number,
): NodeStation[] {
  const uplink = links.find(({ index, details }) => index === port && details?.carrier !== undefined);
  const bridge = links.find(({ index }) => index === uplink?.master);
  const mac = macFromNumber(number);
  if (mac === undefined || uplink === undefined || bridge === undefined) return [];
  if (!published.has(BRIDGE_RESOURCE_PREFIX + bridge.name)) return [];
  const before = (seconds: number): string => `${new Date(nowMs - seconds * 1000).toISOString().slice(0, 19)}Z`;
  return [
    {
      mac: formatMac(mac),
      bridge: bridge.name,
      uplink: shownInterface(uplink.name),
      ...(vlan === 0 ? {} : { vlan }),
      lastSeen: before(age),
      ...(flapAge === undefined ? {} : { lastFlap: before(flapAge) }),
    },
  ];
}

/**
 * Addresses of the node's own interfaces: of physical ones, which have no kind in rtnetlink, and of bonds. All others (veth,
 * tap, bridge, VLAN, macvlan, tunnels) are made by software, whose addresses come and go with pods. Each address once, bonds
 * first, then by the index of the link; as many as a node may report.
 *
 * Of a physical interface, the address that the hardware came with counts. Another one is that of its bond, or of a VM on top
 * of it (macvtap in passthru mode).
 */
function hostAddresses(links: readonly Link[]): HostAddresses {
  const bonds = links.filter(({ kind }) => BONDS.includes(kind));
  const physical = links.filter(({ kind }) => kind === "");
  const byMac = new Map<string, NodeMac>();
  for (const { name, mac: current, permanentMac = current } of [...bonds, ...physical]) {
    const mac = unicastMac(permanentMac);
    if (mac !== undefined && !byMac.has(mac)) byMac.set(mac, { mac, interface: shownInterface(name) });
  }
  const all = [...byMac.values()];
  return { addresses: all.slice(0, MAX_NODE_MACS), omitted: Math.max(0, all.length - MAX_NODE_MACS) };
}

/** Undefined for a loopback device (all zeros) and for what is no Ethernet address. */
function unicastMac(text: string): string | undefined {
  const mac = parseMac(text);
  return mac === undefined || mac === 0 || isMulticast(mac) ? undefined : formatMac(mac);
}

/**
 * Whether an interface is a virtual function of SR-IOV: its device points to the physical one. A pod on the node's network
 * sees the node's interfaces in sysfs, and needs no right for it.
 */
export function isVirtualFunction(name: string, interfaces = INTERFACES): boolean {
  return existsSync(join(interfaces, name, "device", "physfn"));
}
