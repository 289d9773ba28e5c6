/** Frames as a guest may send them, whatever the kernel below thinks of their sources. Python sends them: Node has no raw sockets. */

import { searchPath } from "../cluster/requirements.ts";
import type { Namespace } from "./testbed.ts";

/** On one processor, so that nothing changes their order. */
const SEND = `
import ctypes, os, socket, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
packets = {}
for path, ifname, frame in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    if (path, ifname) not in packets:
        if path and ctypes.CDLL(None).setns(os.open(path, os.O_RDONLY), 0) != 0:
            raise OSError(path)
        packets[path, ifname] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        packets[path, ifname].bind((ifname, 0))
    packets[path, ifname].send(bytes.fromhex(frame))
`;

const BROADCAST = "ff:ff:ff:ff:ff:ff";
/** For experiments: nobody answers. */
const ETHERTYPE = "88b5";
const PAYLOAD = "00".repeat(46);

export async function sendFrames(from: Namespace, ifname: string, frames: readonly string[]): Promise<void> {
  await sendInTurn(
    from,
    frames.map((frame) => [ifname, frame]),
  );
}

/** One after another, through the interface of each. `path`: the network namespace that has it, where it is not that of `from`. */
export async function sendInTurn(
  from: Namespace,
  frames: readonly (readonly [ifname: string, frame: string, path?: string])[],
): Promise<void> {
  const args = frames.flatMap(([ifname, frame, path = ""]) => [path, ifname, frame]);
  const { code, stderr } = await from.run(["python3", "-c", SEND, ...args], { env: { PATH: searchPath() } });
  if (code !== 0) throw new Error(`frames were not sent: ${stderr}`);
}

/** In hexadecimal, to everybody. */
export function frameFrom(mac: string): string {
  return `${BROADCAST}${mac}`.replaceAll(":", "") + ETHERTYPE + PAYLOAD;
}

const ROUTER_MAC = "02:00:00:00:00:01";
const ALL_NODES_MAC = "33:33:00:00:00:01";
const ETHERTYPE_IPV6 = "86dd";
const ROUTER = `fe80${"0".repeat(26)}01`;
const ALL_NODES = `ff02${"0".repeat(26)}01`;
const NEXT_HEADER_ICMPV6 = "3a";
/** A router's packets must not have passed another one. */
const HOP_LIMIT = "ff";

/** In hexadecimal: `fe80::1` is a router for half an hour, and hosts may make addresses in `network`/64, such as "2001:db8:7::". */
export function routerAdvertisement(network: string): string {
  const groups = network.split("::")[0]?.split(":") ?? [];
  const prefix = groups
    .map((group) => group.padStart(4, "0"))
    .join("")
    .padEnd(32, "0");
  const lifetime = "00000708";
  const option = `0304 40c0 ${lifetime} ${lifetime} 00000000 ${prefix}`;
  const beforeChecksum = "8600";
  const afterChecksum = `40 00 0708 00000000 00000000 ${option}`.replaceAll(" ", "");
  const length = (beforeChecksum.length + 4 + afterChecksum.length) / 2;
  const pseudoHeader = ROUTER + ALL_NODES + hexadecimal(length, 8) + hexadecimal(0x3a, 8);
  const sum = checksum(pseudoHeader + beforeChecksum + afterChecksum);
  const ethernet = `${ALL_NODES_MAC}${ROUTER_MAC}`.replaceAll(":", "") + ETHERTYPE_IPV6;
  const ipv6 = `60000000${hexadecimal(length, 4)}${NEXT_HEADER_ICMPV6}${HOP_LIMIT}${ROUTER}${ALL_NODES}`;
  return ethernet + ipv6 + beforeChecksum + sum + afterChecksum;
}

/** RFC 1071. */
function checksum(hex: string): string {
  let sum = 0;
  for (const word of hex.match(/.{4}/g) ?? []) sum += Number.parseInt(word, 16);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return hexadecimal(~sum & 0xffff, 4);
}

const hexadecimal = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
