/** What a program says to the kernel over netlink sockets, and what it is answered, byte by byte as strace sees it. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { readMessages } from "../../../../cni-plugins/netlink/message-reader.ts";
import { RTM_NEWLINK } from "../../../../cni-plugins/netlink/rtnetlink.ts";
import type { Namespace } from "../../../netns/testbed.ts";

export interface Traffic {
  /** Messages of rtnetlink and nftables, each with its header. */
  readonly sent: readonly Buffer[];
  /** Datagrams. */
  readonly received: readonly Buffer[];
  readonly stdout: string;
}

export interface Program {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

const OPTIONS = ["-f", "-e", "trace=sendto,sendmsg,recvfrom,recvmsg", "-e", "write=all", "-e", "read=all"];
const HEADER_BYTES = 16;
/** Those of netfilter begin above, but for the two that a transaction begins and ends with. */
const RTNETLINK_TYPES = 0x100;
const NFNL_SUBSYS_NFTABLES = 10;

/** The program may fail: the kernel refuses what it was not built for, and was asked nevertheless. */
export async function trafficOf(node: Namespace, { argv, env = {}, input = "" }: Program): Promise<Traffic> {
  const directory = await mkdtemp(path.join(node.machine.shared, "strace-"));
  try {
    const file = path.join(directory, "calls");
    const { stdout, stderr } = await node.run(["strace", ...OPTIONS, "-o", file, ...argv], { env, input });
    const dumps = parseDumps(await readFile(file, "utf8").catch(() => ""));
    if (dumps.length === 0) throw new Error(`strace of ${argv.join(" ")} saw no message: ${stdout}${stderr}`);
    const of = (name: RegExp) => dumps.filter(({ call }) => name.test(call)).map(({ bytes }) => bytes);
    return { sent: of(/\bsend(to|msg)\b/).flatMap(requestsOf), received: of(/\brecv(from|msg)\b/), stdout };
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** After the line of each call come the bytes: ` * 16 bytes in buffer 0`, ` | 00010  07 00 ...   text |`. */
function parseDumps(trace: string): { call: string; bytes: Buffer }[] {
  const dumps: { readonly call: string; hex: string }[] = [];
  let call = "";
  let begins = true;
  for (const line of trace.split("\n")) {
    const hex = /^ \| [0-9a-f]{5,} {2}([0-9a-f ]{48,49}) /.exec(line)?.[1];
    if (hex === undefined) {
      begins = !/^ \* .* in buffer [1-9]/.test(line);
      if (begins && !line.startsWith(" * ")) call = line;
      continue;
    }
    if (begins) dumps.push({ call, hex: "" });
    begins = false;
    const dump = dumps.at(-1);
    if (dump !== undefined) dump.hex += hex;
  }
  return dumps
    .filter((dump) => !dump.call.includes("MSG_PEEK"))
    .map((dump) => ({ call: dump.call, bytes: Buffer.from(dump.hex.replaceAll(" ", ""), "hex") }));
}

/** iproute2 sends the whole of its buffer with some requests, which end before; nftables has several in one. */
function requestsOf(bytes: Buffer): Buffer[] {
  const messages = readMessages(bytes).map(({ start, end, type }) => ({
    type,
    bytes: bytes.subarray(start - HEADER_BYTES, end),
  }));
  if (messages.some(({ type }) => isOfNftables(type))) return messages.map((message) => message.bytes);
  const [first] = messages;
  return first !== undefined && isRtnetlink(first.type) ? [first.bytes] : [];
}

const isRtnetlink = (type: number): boolean => type >= RTM_NEWLINK && type < RTNETLINK_TYPES;

export const isOfNftables = (type: number): boolean => type >> 8 === NFNL_SUBSYS_NFTABLES;
