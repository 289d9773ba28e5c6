/** Netlink messages as the kernel in memory reads and writes them. */

import { eachAttribute, type Message, readText } from "../../cni-plugins/netlink/message-reader.ts";
import * as nl from "../../cni-plugins/netlink/rtnetlink.ts";

export interface Attributes {
  readonly numbers: Record<number, number>;
  readonly texts: Record<number, string>;
  readonly bytes: Record<number, Uint8Array>;
  readonly nested: Record<number, Attributes>;
}

export function acknowledgement({ sequence }: Message, code: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(36));
  view.setUint32(0, 36, true);
  view.setUint16(4, nl.NLMSG_ERROR, true);
  view.setUint16(6, nl.NLM_F_CAPPED, true);
  view.setUint32(8, sequence, true);
  view.setInt32(16, -code, true);
  return new Uint8Array(view.buffer);
}

export function readAttributes(view: DataView, start: number, end: number, inInfo = false): Attributes {
  const all: Attributes = { numbers: {}, texts: {}, bytes: {}, nested: {} };
  eachAttribute(view, start, end, (type, from, to) => {
    all.bytes[type] = new Uint8Array(view.buffer, view.byteOffset + from, to - from);
    all.texts[type] = readText(view, from, to);
    if (to - from === 4) all.numbers[type] = view.getUint32(from, true);
    if (inInfo && type === nl.IFLA_INFO_DATA) all.nested[type] = readPeer(view, from, to);
    else if (type === nl.IFLA_LINKINFO && !inInfo) all.nested[type] = readAttributes(view, from, to, true);
  });
  return all;
}

/** VETH_INFO_PEER has a link header of its own before its attributes. */
function readPeer(view: DataView, start: number, end: number): Attributes {
  const data: Attributes = { numbers: {}, texts: {}, bytes: {}, nested: {} };
  eachAttribute(view, start, end, (type, from, to) => {
    data.nested[type] = readAttributes(view, from + 16, to);
  });
  return data;
}
