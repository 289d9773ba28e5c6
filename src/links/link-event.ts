/**
 * What the executable `link-monitor` tells the node's daemons, the marker and the node agent.
 * Imports `src/api` and `src/kube`, nothing of a product.
 */
import type { OperationReport } from "../api/node-state.ts";
import { listAt, parseObject } from "../kube/json-path.ts";

/** A link of the node. */
export interface Link {
  readonly index: number;
  readonly name: string;
  /** Of rtnetlink: "bridge", "veth", ...; "" for a physical device. */
  readonly kind: string;
  /** Index of the bridge or bond that it is a port of; 0 for none. */
  readonly master: number;
  /** "" for none. */
  readonly mac: string;
  /** The address that the hardware came with, where it is another one. */
  readonly permanentMac: string | undefined;
  readonly mtu?: number | undefined;
  /** Of a bridge that filters VLANs. */
  readonly vlanFiltering?: boolean;
  /** Of a bridge or an uplink, where the monitor was asked for bridges. */
  readonly details?: LinkDetails | undefined;
}

/** How a bridge or one of its uplinks is set. What is absent is off, or of another kind of link. */
interface LinkDetails {
  /** Of a bridge that filters: the VLAN of untagged frames of a new port; 0 for none. */
  readonly defaultVlan?: number | undefined;
  /** Of a bridge: false where the kernel can't filter VLANs. */
  readonly canFilterVlans?: boolean;
  /** The bridge takes part in the spanning tree protocol. */
  readonly spanningTree?: boolean;
  /** The node itself has an address on the bridge; addresses of link scope do not count. */
  readonly hasAddress?: boolean;
  /** Of an uplink, and always there then: the other end of its wire is up. */
  readonly carrier?: boolean | undefined;
  /** Of an uplink: its VLANs in ranges, such as "100-110"; absent where there are very many. */
  readonly vlans?: readonly string[] | undefined;
  /** Of an uplink: the VLAN of frames without a tag. */
  readonly untaggedVlan?: number | undefined;
}

/** A station beyond an uplink, whose address is in a range that was asked for. */
export interface SeenStation {
  /** 48 bits. */
  readonly mac: number;
  /** Index of the uplink. */
  readonly port: number;
  /** 0 where the bridge does not filter VLANs. */
  readonly vlan: number;
  /** Seconds since it was seen. */
  readonly age: number;
  /** Seconds since it was found on both sides of the uplink; absent where it was not. */
  readonly flapAge: number | undefined;
}

export interface SeenStations {
  readonly stations: readonly SeenStation[];
  /** How many more there are. */
  readonly more: number;
}

/** What a plugin reported of one call. */
export type PluginReport = Omit<OperationReport, "network">;

/**
 * The lines of `link-monitor`, one JSON object each: first every link, then `synced`, then changes. `resync` and `lost`
 * announce that every link is printed again, up to the next `synced`; `alive` is the heartbeat. Any process of the node may
 * send a report: one that can't be understood is undefined. `stations` has all that are seen.
 */
export type LinkEvent =
  | ({ readonly event: "link" } & Link)
  | { readonly event: "gone"; readonly index: number }
  | { readonly event: "report"; readonly report: PluginReport | undefined }
  | ({ readonly event: "stations" } & SeenStations)
  | { readonly event: "synced" | "resync" | "lost" | "alive" | "namespace-gone" };

/** The event, or undefined for any other line: then the monitor is not the expected executable. Other fields are dropped. */
export function parseLinkEvent(line: string): LinkEvent | undefined {
  const value = parseObject(line) ?? {};
  const { event, index, name, kind, master, mac, permanentMac, mtu, vlanFiltering } = value;
  switch (event) {
    case "link":
      return typeof index === "number" && typeof name === "string"
        ? {
            event,
            index,
            name,
            kind: textOf(kind) ?? "",
            master: numberOf(master) ?? 0,
            mac: textOf(mac) ?? "",
            permanentMac: textOf(permanentMac),
            mtu: numberOf(mtu),
            vlanFiltering: vlanFiltering === true,
            ...detailsOf(value),
          }
        : undefined;
    case "gone":
      return typeof index === "number" ? { event, index } : undefined;
    case "report":
      return { event, report: reportOf(value) };
    case "stations":
      return { event, stations: listAt(value, "stations").flatMap(stationOf), more: numberOf(value.more) ?? 0 };
    case "synced":
    case "resync":
    case "lost":
    case "alive":
    case "namespace-gone":
      return { event };
    default:
      return undefined;
  }
}

function detailsOf(value: Record<string, unknown>): { details?: LinkDetails } {
  const { defaultVlan, canFilterVlans, spanningTree, hasAddress, carrier, vlans, untaggedVlan } = value;
  if (value.kind === "bridge") {
    const details = { defaultVlan: numberOf(defaultVlan), spanningTree: spanningTree === true };
    const lacking = canFilterVlans === false ? { canFilterVlans } : {};
    return { details: { ...details, ...lacking, hasAddress: hasAddress === true } };
  }
  if (typeof carrier !== "boolean") return {};
  const ranges = Array.isArray(vlans) ? vlans.map(String) : undefined;
  return { details: { carrier, vlans: ranges, untaggedVlan: numberOf(untaggedVlan) } };
}

function reportOf({ plugin, command, code, ms }: Record<string, unknown>): PluginReport | undefined {
  if (typeof plugin !== "string" || typeof command !== "string") return undefined;
  return typeof code === "number" && typeof ms === "number" ? { plugin, command, code, ms } : undefined;
}

function stationOf(value: unknown): SeenStation[] {
  const [mac, port, vlan, age, flapAge] = Array.isArray(value) ? value.map(numberOf) : [];
  if (mac === undefined || port === undefined || vlan === undefined || age === undefined) return [];
  return [{ mac, port, vlan, age, flapAge: (flapAge ?? -1) < 0 ? undefined : flapAge }];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
