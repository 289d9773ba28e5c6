/** Entries of the forwarding tables of bridges, which rtnetlink has among the neighbours. */

import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readU8, readU16, readU32 } from "./message-reader.ts";
import * as nl from "./rtnetlink.ts";

/** An address that a bridge has learned at one of its ports. */
export interface LearnedAddress {
  /** 48 bits. */
  readonly mac: number;
  /** Index of the port. */
  readonly port: number;
  /** Index of the bridge. */
  readonly bridge: number;
  /** 0 where the bridge does not filter VLANs. */
  readonly vlan: number;
  /** How long ago the bridge has got the last frame from there. */
  readonly ageMs: number;
}

const NDMSG_BYTES = 12;
const MAC_BYTES = 6;
/** Ticks of the kernel's USER_HZ are hundredths of a second on every architecture that we build for. */
const TICK_MS = 10;

/** Asks for what was learned at a port. Kernels before Linux 5.0 send the entries of all ports. */
export function dumpLearned(batch: MessageBatch, port: number): MessageBatch {
  batch.request(`list the addresses behind interface ${port}`, nl.RTM_GETNEIGH, nl.NLM_F_DUMP);
  const index = [port & 0xff, (port >> 8) & 0xff, (port >> 16) & 0xff, port >>> 24];
  return batch.header([nl.AF_BRIDGE, 0, 0, 0, ...index, 0, 0, 0, 0]);
}

/** Undefined for what no bridge has learned: other neighbours, and entries that somebody has made. */
export function readLearned({ type, view, start, end }: Message): LearnedAddress | undefined {
  if (type !== nl.RTM_NEWNEIGH || readU8(view, start, end) !== nl.AF_BRIDGE) return undefined;
  const isMade = (readU16(view, start + 8, end) & (nl.NUD_PERMANENT | nl.NUD_NOARP)) !== 0;
  if (isMade || (readU8(view, start + 10, end) & nl.NTF_SELF) !== 0) return undefined;
  let [mac, bridge, vlan, ageMs] = [-1, 0, 0, 0];
  eachAttribute(view, start + NDMSG_BYTES, end, (attribute, from, to) => {
    if (attribute === nl.NDA_LLADDR && to - from === MAC_BYTES) {
      mac = view.getUint16(from) * 2 ** 32 + view.getUint32(from + 2);
    } else if (attribute === nl.NDA_MASTER) bridge = readU32(view, from, to);
    else if (attribute === nl.NDA_VLAN) vlan = readU16(view, from, to);
    else if (attribute === nl.NDA_CACHEINFO) ageMs = readU32(view, from + nl.NDM_UPDATED_OFFSET, to) * TICK_MS;
  });
  return mac < 0 ? undefined : { mac, port: readU32(view, start + 4, end), bridge, vlan, ageMs };
}
