import { formatMac, isMulticast, parseMac } from "../api/mac.ts";
import { MAX_NODE_MACS, type NodeMac, shownInterface } from "../api/node-macs.ts";
import { LinkTable, type SeenLink } from "./link-table.ts";

/** Kinds of rtnetlink that put physical interfaces together under one address. */
const BONDS = ["bond", "team"];

/** A physical interface or a bond. */
interface HostLink {
  readonly name: string;
  readonly isBond: boolean;
  /** Its address now, and the one that the hardware came with. */
  readonly macs: readonly string[];
}

export interface HostAddressList {
  readonly addresses: readonly NodeMac[];
  /** How many more the node has. */
  readonly omitted: number;
}

/**
 * Addresses of the node's own interfaces: of physical ones, which have no kind in rtnetlink, and of bonds. All others (veth,
 * tap, bridge, VLAN, macvlan, tunnels) are made by software, whose addresses come and go with pods. A member of a bond has
 * the address of the bond, and its own again when it leaves.
 */
export class HostAddressTable extends LinkTable<HostLink> {
  constructor() {
    super(hostLink);
  }

  /** Each address once, bonds first, then by the index of the link; as many as a node may report. */
  list(): HostAddressList {
    const links = this.entries().map(([, link]) => link);
    const ordered = [...links.filter(({ isBond }) => isBond), ...links.filter(({ isBond }) => !isBond)];
    const byMac = new Map<string, NodeMac>();
    for (const { name, macs } of ordered) {
      for (const mac of macs) if (!byMac.has(mac)) byMac.set(mac, { mac, interface: name });
    }
    const all = [...byMac.values()];
    return { addresses: all.slice(0, MAX_NODE_MACS), omitted: Math.max(0, all.length - MAX_NODE_MACS) };
  }
}

function hostLink({ name, kind, mac, permanentMac }: SeenLink): HostLink | undefined {
  const isBond = BONDS.includes(kind);
  if (kind !== "" && !isBond) return undefined;
  const macs = [mac, permanentMac ?? ""].flatMap(usable);
  return macs.length === 0 ? undefined : { name: shownInterface(name), isBond, macs };
}

/** Nothing for a loopback device (all zeros) and for what is no Ethernet address. */
function usable(text: string): string[] {
  const mac = parseMac(text);
  return mac === undefined || mac === 0 || isMulticast(mac) ? [] : [formatMac(mac)];
}
