/**
 * The links of this process's network namespace, which is the host's in the DaemonSet's pod: one dump on a netlink socket,
 * which is closed again. A list that may lack links is an error, so no attachment is taken for gone because of it.
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

/** A list that changed while the kernel wrote it is read again. */
const MAX_DUMPS = 20;

/** The kernel answers in milliseconds. */
const TIMEOUT_MS = 5000;

const RTM_NEWLINK = 16;
const RTM_GETLINK = 18;
const SEQUENCE = 1;

/** Of the `struct ifinfomsg` before the attributes. */
const IFINFO_BYTES = 16;
const IFLA_IFNAME = 3;
const IFLA_LINKINFO = 18;
const IFLA_IFALIAS = 20;
const IFLA_EXT_MASK = 29;
const RTEXT_FILTER_SKIP_STATS = 8;
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const IFLA_BR_VLAN_FILTERING = 7;

/** Throws one error that says why there is no list. */
export async function listLinks(): Promise<readonly HostLink[]> {
  for (let attempt = 1; attempt <= MAX_DUMPS; attempt++) {
    const { links, interrupted } = await dumpLinks();
    if (!interrupted) return links;
  }
  throw new Error(`the links of the host changed during each of ${MAX_DUMPS} attempts to list them`);
}

async function dumpLinks(): Promise<LinkDump> {
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
    socket.send(request(), {}, (error) => error && fail(error));
    return await promise;
  } finally {
    clearTimeout(timer);
    // Not in a callback of the socket, which would go on with a closed one.
    await setImmediate();
    socket.close();
  }
}

function request(): Uint8Array[] {
  const mask = formatAttribute({ type: IFLA_EXT_MASK, data: putU32(RTEXT_FILTER_SKIP_STATS) });
  const data = [Buffer.alloc(IFINFO_BYTES), ...mask];
  const flags = Flags.REQUEST | FlagsGet.DUMP;
  return formatMessage({ type: RTM_GETLINK, flags, seq: SEQUENCE, port: 0, data });
}

/** What the kernel answered so far. */
export class LinkDump {
  readonly links: HostLink[] = [];
  /** The list changed while the kernel wrote it: links may be missing. */
  interrupted = false;

  /** Whether the answer is complete. Throws what the kernel refused it with, also in the middle. */
  take(datagram: Buffer): boolean {
    for (const { type, flags, seq, data } of parseMessages(datagram)) {
      if (seq !== SEQUENCE) continue;
      if ((flags & Flags.DUMP_INTR) !== 0) this.interrupted = true;
      if (type === RTM_NEWLINK) this.links.push(parseLink(data.subarray(IFINFO_BYTES)));
      if (type !== MessageType.ERROR && type !== MessageType.DONE) continue;
      const code = readS32.call(data, 0);
      if (code !== 0 || type === MessageType.ERROR) throw new Error(getSystemErrorName(code));
      return true;
    }
    return false;
  }
}

function parseLink(attributes: Buffer): HostLink {
  const link = getMap(attributes, (value) => value);
  const name = link.get(IFLA_IFNAME);
  const alias = link.get(IFLA_IFALIAS);
  const info = getMap(link.get(IFLA_LINKINFO) ?? Buffer.alloc(0), (value) => value);
  const kind = info.get(IFLA_INFO_KIND);
  const bridge = kind?.toString().replace("\0", "") === "bridge" ? info.get(IFLA_INFO_DATA) : undefined;
  const filtering = bridge && getMap(bridge, (value) => value).get(IFLA_BR_VLAN_FILTERING);
  return {
    name: name === undefined ? "" : getString(name),
    alias: alias === undefined ? "" : getString(alias),
    filtersVlans: filtering && readU8.call(filtering, 0) !== 0,
  };
}
