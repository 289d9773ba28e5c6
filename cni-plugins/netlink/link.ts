/** Links: requests about them and what the kernel says of one. */

import { ENODEV } from "./errno.ts";
import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readText, readU8, readU16, readU32 } from "./message-reader.ts";
import type { Answer, NetlinkSocket } from "./netlink-socket.ts";
import * as nl from "./rtnetlink.ts";
import { encodeUtf8 } from "./utf8.ts";

export interface Link {
  readonly index: number;
  readonly name: string;
  /** "bridge", "veth", ...; "" for a physical device. */
  readonly kind: string;
  readonly flags: number;
  readonly up: boolean;
  readonly operState: number;
  /** Lower case with colons; "" when the device has none. */
  readonly mac: string;
  /** The address that the hardware came with, in the same form; "" when the driver knows none. */
  readonly permanentMac: string;
  readonly mtu: number;
  /** Packets that may wait to be sent. */
  readonly txQueueLength: number;
  /** Index of the bridge or bond it belongs to; 0 for none. */
  readonly master: number;
  /** Index of the other end of a veth pair, in its own namespace; 0 for none. */
  readonly peer: number;
  readonly alias: string;
  /** How many users keep it promiscuous. */
  readonly promiscuity: number;
  /** The other end of its wire is up. */
  readonly carrier: boolean;
  /** A bridge that takes part in the spanning tree protocol. */
  readonly spanningTree: boolean;
  /** Present when it is a bridge. `filtering` undefined: the kernel has no VLAN filtering. */
  readonly bridgeVlans: BridgeVlans | undefined;
  /** Present when it is a port of a bridge. */
  readonly bridgePort: { readonly hairpin: boolean; readonly isolated: boolean } | undefined;
}

interface BridgeVlans {
  readonly filtering: boolean | undefined;
  /** What a new port belongs to; 0 for none. */
  readonly defaultVlan: number;
}

const IFINFO_BYTES = 16;
const INDEX_OFFSET = 4;

/** Asks for one link, by name or by index. */
export function getLink(batch: MessageBatch, which: string | number): MessageBatch {
  batch.request(`look up interface ${which}`, nl.RTM_GETLINK);
  batch.linkHeader(nl.AF_UNSPEC, typeof which === "number" ? which : 0);
  batch.u32(nl.IFLA_EXT_MASK, nl.RTEXT_FILTER_SKIP_STATS);
  return typeof which === "string" ? batch.text(nl.IFLA_IFNAME, which) : batch;
}

/** Asks for every link, or for the ports of one bridge. */
export function dumpLinks(batch: MessageBatch, master = 0): MessageBatch {
  batch.request("list interfaces", nl.RTM_GETLINK, nl.NLM_F_DUMP);
  batch.linkHeader(nl.AF_UNSPEC, 0).u32(nl.IFLA_EXT_MASK, nl.RTEXT_FILTER_SKIP_STATS);
  return master === 0 ? batch : batch.u32(nl.IFLA_MASTER, master);
}

export function deleteLink(batch: MessageBatch, which: string | number): MessageBatch {
  batch.request(`delete interface ${which}`, nl.RTM_DELLINK);
  batch.linkHeader(nl.AF_UNSPEC, typeof which === "number" ? which : 0);
  return typeof which === "string" ? batch.text(nl.IFLA_IFNAME, which) : batch;
}

/** Also gives it an alias, if there is one: without a closing nul, which the kernel would count among its 255 bytes. */
export function setLinkUp(batch: MessageBatch, which: string | number, alias?: string): MessageBatch {
  batch.request(`bring interface ${which} up`, nl.RTM_NEWLINK);
  batch.linkHeader(nl.AF_UNSPEC, typeof which === "number" ? which : 0, nl.IFF_UP, nl.IFF_UP);
  if (typeof which === "string") batch.text(nl.IFLA_IFNAME, which);
  return alias === undefined ? batch : batch.bytes(nl.IFLA_IFALIAS, encodeUtf8(alias));
}

export function setPromiscuous(batch: MessageBatch, index: number, on: boolean): MessageBatch {
  batch.request(`set promiscuous mode of interface ${index}`, nl.RTM_NEWLINK);
  return batch.linkHeader(nl.AF_UNSPEC, index, on ? nl.IFF_PROMISC : 0, nl.IFF_PROMISC);
}

/** The link in the answer to `getLink`; undefined when there is none of that name. Throws any other error. */
export function linkOf(answer: Answer | undefined): Link | undefined {
  if (answer?.error !== undefined) {
    if (answer.error.errno === ENODEV) return undefined;
    throw answer.error;
  }
  const message = answer?.messages[0];
  return message === undefined ? undefined : readLink(message);
}

/** Undefined when there is none. */
export function findLink(socket: NetlinkSocket, which: string | number): Link | undefined {
  return linkOf(socket.transact(getLink(socket.batch(), which))[0]);
}

/** Throws ENODEV when there is none. */
export function requireLink(socket: NetlinkSocket, which: string | number): Link {
  const [answer] = socket.run(getLink(socket.batch(), which));
  const link = linkOf(answer);
  if (link === undefined) throw new Error(`the kernel's answer about interface ${which} has no interface`);
  return link;
}

export function deleteIfPresent(socket: NetlinkSocket, which: string | number): void {
  const [answer] = socket.transact(deleteLink(socket.batch(), which));
  if (answer?.error !== undefined && answer.error.errno !== ENODEV) throw answer.error;
}

/** Of an RTM_NEWLINK or RTM_DELLINK message. */
export function readLink({ view, start, end }: Message): Link {
  const flags = readU32(view, start + 8, end);
  const link = {
    index: readU32(view, start + 4, end),
    name: "",
    kind: "",
    flags,
    up: (flags & nl.IFF_UP) !== 0,
    operState: 0,
    mac: "",
    permanentMac: "",
    mtu: 0,
    txQueueLength: 0,
    master: 0,
    peer: 0,
    alias: "",
    promiscuity: 0,
    carrier: (flags & nl.IFF_LOWER_UP) !== 0,
    spanningTree: false,
    bridgeVlans: undefined as Link["bridgeVlans"],
    bridgePort: undefined as Link["bridgePort"],
  };
  eachAttribute(view, start + IFINFO_BYTES, end, (type, from, to) => {
    switch (type) {
      case nl.IFLA_ADDRESS:
        link.mac = readHex(view, from, to);
        break;
      case nl.IFLA_IFNAME:
        link.name = readText(view, from, to);
        break;
      case nl.IFLA_MTU:
        link.mtu = readU32(view, from, to);
        break;
      case nl.IFLA_TXQLEN:
        link.txQueueLength = readU32(view, from, to);
        break;
      case nl.IFLA_LINK:
        link.peer = readU32(view, from, to);
        break;
      case nl.IFLA_MASTER:
        link.master = readU32(view, from, to);
        break;
      case nl.IFLA_OPERSTATE:
        link.operState = readU8(view, from, to);
        break;
      case nl.IFLA_LINKINFO:
        readLinkInfo(view, from, to, link);
        break;
      case nl.IFLA_IFALIAS:
        link.alias = readText(view, from, to);
        break;
      case nl.IFLA_PERM_ADDRESS:
        link.permanentMac = readHex(view, from, to);
        break;
      case nl.IFLA_PROMISCUITY:
        link.promiscuity = readU32(view, from, to);
        break;
    }
  });
  return link;
}

function readLinkInfo(
  view: DataView,
  start: number,
  end: number,
  link: { kind: string; spanningTree: boolean; bridgeVlans: Link["bridgeVlans"]; bridgePort: Link["bridgePort"] },
) {
  eachAttribute(view, start, end, (type, from, to) => {
    if (type === nl.IFLA_INFO_KIND) link.kind = readText(view, from, to);
    else if (type === nl.IFLA_INFO_DATA && link.kind === "bridge") readBridge(view, from, to, link);
    else if (type === nl.IFLA_INFO_SLAVE_DATA) link.bridgePort = readBridgePort(view, from, to);
  });
}

/** A kernel without VLAN filtering says that it is off, and nothing of a default VLAN. */
function readBridge(
  view: DataView,
  start: number,
  end: number,
  link: { spanningTree: boolean; bridgeVlans: Link["bridgeVlans"] },
): void {
  let filtering = false;
  let defaultVlan: number | undefined;
  eachAttribute(view, start, end, (type, from, to) => {
    if (type === nl.IFLA_BR_VLAN_FILTERING) filtering = readU8(view, from, to) !== 0;
    else if (type === nl.IFLA_BR_VLAN_DEFAULT_PVID) defaultVlan = readU16(view, from, to);
    else if (type === nl.IFLA_BR_STP_STATE) link.spanningTree = readU32(view, from, to) !== 0;
  });
  link.bridgeVlans = { filtering: defaultVlan === undefined ? undefined : filtering, defaultVlan: defaultVlan ?? 0 };
}

/** The address family an RTM_*LINK message speaks for: AF_BRIDGE ones are about a port, not about the link. */
export function linkFamily({ view, start, end }: Message): number {
  return readU8(view, start, end);
}

/** Of any message about a link, without reading the rest of it. */
export function linkIndex({ view, start, end }: Message): number {
  return readU32(view, start + INDEX_OFFSET, end);
}

function readBridgePort(view: DataView, start: number, end: number): { hairpin: boolean; isolated: boolean } {
  const port = { hairpin: false, isolated: false };
  eachAttribute(view, start, end, (type, from, to) => {
    if (type === nl.IFLA_BRPORT_MODE) port.hairpin = readU8(view, from, to) !== 0;
    else if (type === nl.IFLA_BRPORT_ISOLATED) port.isolated = readU8(view, from, to) !== 0;
  });
  return port;
}

function readHex(view: DataView, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at++) {
    const byte = view.getUint8(at);
    text += (at > start ? ":" : "") + (byte < 16 ? "0" : "") + byte.toString(16);
  }
  return text;
}
