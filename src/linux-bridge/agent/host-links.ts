/**
 * The links of this process's network namespace, which is the host's in the DaemonSet's pod, or of one that its links lead to:
 * one dump on a netlink socket, which is closed again. A list that may lack links is an error, so no attachment is taken for
 * gone because of it.
 * This is the one seam to the npm package `netlink`. Its parts are imported one by one: all of it takes 8 MB more.
 */
import { setImmediate } from "node:timers/promises";
import { getSystemErrorName } from "node:util";
import { Flags, FlagsGet, MessageType, Protocol } from "netlink/dist/constants.js";
import { RawNetlinkSocket } from "netlink/dist/raw.js";
import {
  formatAttribute,
  formatMessage,
  getMap,
  getString,
  parseMessages,
  putU32,
  readS32,
  readU8,
} from "netlink/dist/structs.js";

export interface HostLink {
  readonly name: string;
  /** Empty for none. */
  readonly alias: string;
  /** Undefined for what is no bridge. */
  readonly filtersVlans: boolean | undefined;
}

export type ListLinks = () => Promise<readonly HostLink[]>;

export interface PairedLink extends HostLink {
  readonly index: number;
  /** Whether it is a port of a bridge. */
  readonly isPort: boolean;
  /** The other end of a pair, if it is in another network namespace, and the kernel's number of that namespace. */
  readonly peer: { readonly index: number; readonly namespaceId: number } | undefined;
}

/** The host's links, or those of the namespace with this number, for which CAP_NET_ADMIN is needed. */
export type ListPairedLinks = (namespaceId?: number) => Promise<readonly PairedLink[]>;

/** A list that changed while the kernel wrote it is read again. */
const MAX_DUMPS = 20;

/** The kernel answers in milliseconds. */
const TIMEOUT_MS = 5000;

const RTM_NEWLINK = 16;
const RTM_GETLINK = 18;
const SEQUENCE = 1;

/** Of the `struct ifinfomsg` before the attributes, and where its index is. */
const IFINFO_BYTES = 16;
const IFINFO_INDEX = 4;
const IFLA_IFNAME = 3;
const IFLA_LINK = 5;
const IFLA_MASTER = 10;
const IFLA_LINKINFO = 18;
const IFLA_IFALIAS = 20;
const IFLA_EXT_MASK = 29;
const IFLA_LINK_NETNSID = 37;
const IFLA_TARGET_NETNSID = 46;
const RTEXT_FILTER_SKIP_STATS = 8;
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const IFLA_BR_VLAN_FILTERING = 7;

/** Throws one error that says why there is no list. */
export async function listLinks(namespaceId?: number): Promise<readonly PairedLink[]> {
  for (let attempt = 1; attempt <= MAX_DUMPS; attempt++) {
    const { links, interrupted } = await dumpLinks(namespaceId);
    if (!interrupted) return links;
  }
  throw new Error(`the links of the host changed during each of ${MAX_DUMPS} attempts to list them`);
}

async function dumpLinks(namespaceId: number | undefined): Promise<LinkDump> {
  const socket = new RawNetlinkSocket(Protocol.ROUTE);
  const { promise, resolve, reject } = Promise.withResolvers<LinkDump>();
  const fail = (cause: unknown): void =>
    reject(new Error(`the links of the host could not be listed: ${cause}`, { cause }));
  const timer = setTimeout(() => fail(`no answer of the kernel in ${TIMEOUT_MS / 1000} s`), TIMEOUT_MS);
  const dump = new LinkDump();
  // The package ends the process for an `error` without a listener and for a listener that throws.
  socket.on("error", fail);
  socket.on("truncatedMessage", () => fail("an answer of the kernel was cut off"));
  socket.on("message", (datagram) => {
    try {
      if (dump.take(datagram)) resolve(dump);
    } catch (error) {
      fail(error);
    }
  });
  try {
    socket.send(request(namespaceId), {}, (error) => error && fail(error));
    return await promise;
  } finally {
    clearTimeout(timer);
    // Not in a callback of the socket, which would go on with a closed one.
    await setImmediate();
    socket.close();
  }
}

function request(namespaceId: number | undefined): Uint8Array[] {
  const mask = formatAttribute({ type: IFLA_EXT_MASK, data: putU32(RTEXT_FILTER_SKIP_STATS) });
  const target =
    namespaceId === undefined ? [] : formatAttribute({ type: IFLA_TARGET_NETNSID, data: putU32(namespaceId) });
  const data = [Buffer.alloc(IFINFO_BYTES), ...mask, ...target];
  const flags = Flags.REQUEST | FlagsGet.DUMP;
  return formatMessage({ type: RTM_GETLINK, flags, seq: SEQUENCE, port: 0, data });
}

/** What the kernel answered so far. */
export class LinkDump {
  readonly links: PairedLink[] = [];
  /** The list changed while the kernel wrote it: links may be missing. */
  interrupted = false;

  /** Whether the answer is complete. Throws what the kernel refused it with, also in the middle. */
  take(datagram: Buffer): boolean {
    for (const { type, flags, seq, data } of parseMessages(datagram)) {
      if (seq !== SEQUENCE) continue;
      if ((flags & Flags.DUMP_INTR) !== 0) this.interrupted = true;
      if (type === RTM_NEWLINK) this.links.push(parseLink(data));
      if (type !== MessageType.ERROR && type !== MessageType.DONE) continue;
      const code = readS32.call(data, 0);
      if (code !== 0 || type === MessageType.ERROR) throw new Error(getSystemErrorName(code));
      return true;
    }
    return false;
  }
}

function parseLink(message: Buffer): PairedLink {
  const link = getMap(message.subarray(IFINFO_BYTES), (value) => value);
  const name = link.get(IFLA_IFNAME);
  const alias = link.get(IFLA_IFALIAS);
  const info = getMap(link.get(IFLA_LINKINFO) ?? Buffer.alloc(0), (value) => value);
  const kind = info.get(IFLA_INFO_KIND);
  const bridge = kind?.toString().replace("\0", "") === "bridge" ? info.get(IFLA_INFO_DATA) : undefined;
  const filtering = bridge && getMap(bridge, (value) => value).get(IFLA_BR_VLAN_FILTERING);
  const numberAt = (type: number): number | undefined => {
    const value = link.get(type);
    return value && readS32.call(value, 0);
  };
  const [index, namespaceId] = [numberAt(IFLA_LINK), numberAt(IFLA_LINK_NETNSID)];
  return {
    index: readS32.call(message, IFINFO_INDEX),
    name: name === undefined ? "" : getString(name),
    alias: alias === undefined ? "" : getString(alias),
    filtersVlans: filtering && readU8.call(filtering, 0) !== 0,
    isPort: link.has(IFLA_MASTER),
    peer: index === undefined || namespaceId === undefined ? undefined : { index, namespaceId },
  };
}
