import { formatMac, isMulticast, parseMac } from "../api/mac.ts";
import type { NodeMac } from "../api/node-macs.ts";
import { MAX_NODE_MACS, shownInterface } from "../api/node-report.ts";
import { LinkTable, type SeenLink } from "./link-table.ts";

/** Kinds of rtnetlink that put physical interfaces together under one address. */
const BONDS = ["bond", "team"];

/** A physical interface or a bond. */
interface HostLink {
  readonly name: string;
  readonly isBond: boolean;
  readonly mac: string;
}

export interface HostAddressList {
  readonly addresses: readonly NodeMac[];
  /** How many more the node has. */
  readonly omitted: number;
}

/**
 * Addresses of the node's own interfaces: of physical ones, which have no kind in rtnetlink, and of bonds. All others (veth,
 * tap, bridge, VLAN, macvlan, tunnels) are made by software, whose addresses come and go with pods. So do those of virtual
 * functions: one that is back from a VM may still have its address.
 *
 * Of a physical interface, the address that the hardware came with counts. Another one is that of its bond, or of a VM on top
 * of it (macvtap in passthru mode).
 */
export class HostAddressTable extends LinkTable<HostLink> {
  /** `isVirtualFunction`: by the interface's name. */
  constructor(isVirtualFunction: (name: string) => boolean) {
    super((link) => hostLink(link, isVirtualFunction));
  }

  /** Each address once, bonds first, then by the index of the link; as many as a node may report. */
  list(): HostAddressList {
    const links = this.entries().map(([, link]) => link);
    const ordered = [...links.filter(({ isBond }) => isBond), ...links.filter(({ isBond }) => !isBond)];
    const byMac = new Map<string, NodeMac>();
    for (const { name, mac } of ordered) if (!byMac.has(mac)) byMac.set(mac, { mac, interface: name });
    const all = [...byMac.values()];
    return { addresses: all.slice(0, MAX_NODE_MACS), omitted: Math.max(0, all.length - MAX_NODE_MACS) };
  }
}

function hostLink(
  { name, kind, mac, permanentMac }: SeenLink,
  isVirtualFunction: (name: string) => boolean,
): HostLink | undefined {
  const isBond = BONDS.includes(kind);
  if (kind !== "" && !isBond) return undefined;
  const own = usable(permanentMac ?? mac);
  if (own === undefined || (!isBond && isVirtualFunction(name))) return undefined;
  return { name: shownInterface(name), isBond, mac: own };
}

/** Undefined for a loopback device (all zeros) and for what is no Ethernet address. */
function usable(text: string): string | undefined {
  const mac = parseMac(text);
  return mac === undefined || mac === 0 || isMulticast(mac) ? undefined : formatMac(mac);
}
