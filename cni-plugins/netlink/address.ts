/** Addresses of interfaces. */

import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readBytes, readU8, readU32 } from "./message-reader.ts";
import * as nl from "./rtnetlink.ts";

/** 4 or 16 bytes and the length of the network's prefix. */
export interface InterfaceAddress {
  readonly address: Uint8Array;
  readonly length: number;
}

export interface AddressView extends InterfaceAddress {
  readonly index: number;
  /** Duplicate address detection is not through yet. */
  readonly tentative: boolean;
  /** Another host on the link has the address. */
  readonly duplicate: boolean;
}

const IFADDRMSG_BYTES = 8;
const IPV4_BYTES = 4;
/** Shorter IPv4 networks have no broadcast address. */
const LONGEST_WITH_BROADCAST = 30;

/** EEXIST when the interface has it. */
export function addAddress(batch: MessageBatch, index: number, address: InterfaceAddress): MessageBatch {
  batch.request(`add an address to interface ${index}`, nl.RTM_NEWADDR, nl.NLM_F_CREATE | nl.NLM_F_EXCL);
  writeAddress(batch, index, address);
  const { address: bytes, length } = address;
  if (bytes.length === IPV4_BYTES && length <= LONGEST_WITH_BROADCAST) {
    batch.bytes(
      nl.IFA_BROADCAST,
      bytes.map((byte, i) => byte | hostByte(length, i)),
    );
  }
  return batch;
}

/** EADDRNOTAVAIL when the interface does not have it. */
export function deleteAddress(batch: MessageBatch, index: number, address: InterfaceAddress): MessageBatch {
  batch.request(`remove an address from interface ${index}`, nl.RTM_DELADDR);
  return writeAddress(batch, index, address);
}

function writeAddress(batch: MessageBatch, index: number, { address, length }: InterfaceAddress): MessageBatch {
  addressHeader(batch, familyOf(address), length, index);
  return batch.bytes(nl.IFA_LOCAL, address).bytes(nl.IFA_ADDRESS, address);
}

/** Asks for one interface's addresses of a family. Older kernels send those of all interfaces: look at `index`. */
export function dumpAddresses(batch: MessageBatch, family: number, index: number): MessageBatch {
  batch.request(`list the addresses of interface ${index}`, nl.RTM_GETADDR, nl.NLM_F_DUMP);
  return addressHeader(batch, family, 0, index);
}

/** struct ifaddrmsg */
function addressHeader(batch: MessageBatch, family: number, length: number, index: number): MessageBatch {
  return batch.header([family, length, 0, 0, index & 0xff, (index >> 8) & 0xff, (index >> 16) & 0xff, index >>> 24]);
}

/** Of an RTM_NEWADDR or RTM_DELADDR message. */
export function readAddress({ view, start, end }: Message): AddressView {
  let flags = readU8(view, start + 2, end);
  let local: Uint8Array | undefined;
  let address: Uint8Array = new Uint8Array(0);
  eachAttribute(view, start + IFADDRMSG_BYTES, end, (type, from, to) => {
    if (type === nl.IFA_LOCAL) local = readBytes(view, from, to);
    else if (type === nl.IFA_ADDRESS) address = readBytes(view, from, to);
    else if (type === nl.IFA_FLAGS) flags = readU32(view, from, to);
  });
  return {
    index: readU32(view, start + 4, end),
    address: local ?? address,
    length: readU8(view, start + 1, end),
    tentative: (flags & nl.IFA_F_TENTATIVE) !== 0,
    duplicate: (flags & nl.IFA_F_DADFAILED) !== 0,
  };
}

export function familyOf(address: Uint8Array): number {
  return address.length === IPV4_BYTES ? nl.AF_INET : nl.AF_INET6;
}

function hostByte(length: number, at: number): number {
  return 0xff >> Math.min(8, Math.max(0, length - at * 8));
}
