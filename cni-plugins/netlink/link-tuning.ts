/** Requests that change a link's address, sizes and receive modes. */

import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readU32 } from "./message-reader.ts";
import { AF_UNSPEC, IFF_ALLMULTI, IFLA_ADDRESS, IFLA_MTU, IFLA_TXQLEN, RTM_NEWLINK } from "./rtnetlink.ts";

const IFLA_MIN_MTU = 50;
const IFLA_MAX_MTU = 51;
const IFINFO_BYTES = 16;

/** Of an RTM_NEWLINK message: what the link's driver takes. A maximum of 0: it does not say. */
export function readMtuRange({ view, start, end }: Message): { readonly minimum: number; readonly maximum: number } {
  let minimum = 0;
  let maximum = 0;
  eachAttribute(view, start + IFINFO_BYTES, end, (type, from, to) => {
    if (type === IFLA_MIN_MTU) minimum = readU32(view, from, to);
    else if (type === IFLA_MAX_MTU) maximum = readU32(view, from, to);
  });
  return { minimum, maximum };
}

export function setLinkMac(batch: MessageBatch, index: number, mac: Uint8Array): MessageBatch {
  return change(batch, "the MAC address", index).bytes(IFLA_ADDRESS, mac);
}

export function setLinkMtu(batch: MessageBatch, index: number, mtu: number): MessageBatch {
  return change(batch, "the MTU", index).u32(IFLA_MTU, mtu);
}

export function setTxQueueLength(batch: MessageBatch, index: number, length: number): MessageBatch {
  return change(batch, "the transmit queue length", index).u32(IFLA_TXQLEN, length);
}

export function setAllMulticast(batch: MessageBatch, index: number, on: boolean): MessageBatch {
  batch.request(`set all-multicast mode of interface ${index}`, RTM_NEWLINK);
  return batch.linkHeader(AF_UNSPEC, index, on ? IFF_ALLMULTI : 0, IFF_ALLMULTI);
}

function change(batch: MessageBatch, what: string, index: number): MessageBatch {
  return batch.request(`set ${what} of interface ${index}`, RTM_NEWLINK).linkHeader(AF_UNSPEC, index);
}
