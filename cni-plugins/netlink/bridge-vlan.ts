/** VLANs of bridge ports. EOPNOTSUPP from a kernel without CONFIG_BRIDGE_VLAN_FILTERING. */

import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readU16 } from "./message-reader.ts";
import * as nl from "./rtnetlink.ts";

export interface PortVlan {
  readonly id: number;
  /** Frames without a tag belong to it. */
  readonly pvid: boolean;
  readonly untagged: boolean;
}

export interface VlanRange {
  readonly first: number;
  readonly last: number;
}

const IFINFO_BYTES = 16;
const VLAN_MAX = 4094;

/** The VLAN of untagged frames of an access port. */
export function addAccessVlan(batch: MessageBatch, index: number, id: number): MessageBatch {
  const flags = nl.BRIDGE_VLAN_INFO_PVID | nl.BRIDGE_VLAN_INFO_UNTAGGED;
  return vlanRequest(batch, nl.RTM_SETLINK, `add VLAN ${id} to interface ${index}`, index, () =>
    vlan(batch, id, flags),
  );
}

/** VLANs whose frames keep their tags. */
export function addTrunkVlans(batch: MessageBatch, index: number, ranges: readonly VlanRange[]): MessageBatch {
  return vlanRequest(batch, nl.RTM_SETLINK, `add VLANs to interface ${index}`, index, () => {
    for (const { first, last } of ranges) {
      if (first === last) vlan(batch, first, 0);
      else vlan(batch, first, nl.BRIDGE_VLAN_INFO_RANGE_BEGIN);
      if (first !== last) vlan(batch, last, nl.BRIDGE_VLAN_INFO_RANGE_END);
    }
  });
}

export function deleteVlan(batch: MessageBatch, index: number, id: number): MessageBatch {
  return vlanRequest(batch, nl.RTM_DELLINK, `remove VLAN ${id} from interface ${index}`, index, () =>
    vlan(batch, id, 0),
  );
}

/** struct bridge_vlan_info */
function vlan(batch: MessageBatch, id: number, flags: number): void {
  batch.bytes(nl.IFLA_BRIDGE_VLAN_INFO, Uint8Array.of(flags, 0, id & 0xff, id >> 8));
}

function vlanRequest(batch: MessageBatch, type: number, what: string, index: number, write: () => void): MessageBatch {
  batch.request(what, type).linkHeader(nl.AF_BRIDGE, index);
  return batch.nested(nl.IFLA_AF_SPEC, () => {
    batch.u16(nl.IFLA_BRIDGE_FLAGS, nl.BRIDGE_FLAGS_MASTER);
    write();
  });
}

/** Asks for the VLANs of every port, in ranges: one by one, a port with all of them fits into no message (EMSGSIZE). */
export function dumpPortVlans(batch: MessageBatch): MessageBatch {
  batch.request("list the VLANs of bridge ports", nl.RTM_GETLINK, nl.NLM_F_DUMP).linkHeader(nl.AF_BRIDGE, 0);
  return batch.u32(nl.IFLA_EXT_MASK, nl.RTEXT_FILTER_BRVLAN_COMPRESSED);
}

/**
 * Asks for the VLANs of what is no port, which changes nothing: EINVAL or ENODEV, EOPNOTSUPP from a kernel without VLAN
 * filtering, from one before Linux 5.6, and while the kernel's module `bridge` is not loaded.
 */
export function probeVlanFiltering(batch: MessageBatch): MessageBatch {
  batch.request("look whether bridges can filter VLANs", nl.RTM_GETVLAN, nl.NLM_F_DUMP);
  return batch.header([nl.AF_BRIDGE, 0, 0, 0, nl.LOOPBACK_IFINDEX, 0, 0, 0]);
}

/** The VLANs of one AF_BRIDGE link message. */
export function readPortVlans({ view, start, end }: Message): PortVlan[] {
  const vlans: PortVlan[] = [];
  eachAttribute(view, start + IFINFO_BYTES, end, (type, from, to) => {
    if (type !== nl.IFLA_AF_SPEC) return;
    eachAttribute(view, from, to, (inner, at, stop) => {
      if (inner !== nl.IFLA_BRIDGE_VLAN_INFO) return;
      const flags = readU16(view, at, stop);
      const id = readU16(view, at + 2, stop);
      const isEnd = (flags & nl.BRIDGE_VLAN_INFO_RANGE_END) !== 0;
      const begin = isEnd ? (vlans.at(-1)?.id ?? id) + 1 : id;
      for (let one = begin; one <= Math.min(id, VLAN_MAX); one++) {
        vlans.push({
          id: one,
          pvid: (flags & nl.BRIDGE_VLAN_INFO_PVID) !== 0,
          untagged: (flags & nl.BRIDGE_VLAN_INFO_UNTAGGED) !== 0,
        });
      }
    });
  });
  return vlans;
}

/** Ranges that cover exactly these numbers, which ascend. */
export function rangesOf(ids: readonly number[]): VlanRange[] {
  const ranges: { first: number; last: number }[] = [];
  for (const id of ids) {
    const open = ranges.at(-1);
    if (open !== undefined && open.last + 1 === id) open.last = id;
    else ranges.push({ first: id, last: id });
  }
  return ranges;
}
