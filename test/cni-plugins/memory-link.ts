/** A link of the `MemoryKernel`, and what the kernel says of one. */

import { MessageBatch } from "../../cni-plugins/netlink/message-batch.ts";
import * as nl from "../../cni-plugins/netlink/rtnetlink.ts";

export interface MemoryLink {
  index: number;
  namespace: string;
  name: string;
  kind: string;
  mac: Uint8Array;
  permanentMac?: Uint8Array;
  mtu: number;
  up: boolean;
  master: number;
  alias: string;
  filtering: boolean;
  peer: MemoryLink | undefined;
}

/** What a bridge that filters puts new ports into. */
const DEFAULT_VLAN = 1;

/** An RTM_*LINK message as the kernel writes it. `carrier`: whether the ends of a pair see each other. */
export function describeLink(type: number, sequence: number, link: MemoryLink, carrier: boolean): Uint8Array {
  const batch = new MessageBatch(sequence).request("", type);
  batch
    .linkHeader(nl.AF_UNSPEC, link.index, link.up ? nl.IFF_UP : 0)
    .text(nl.IFLA_IFNAME, link.name)
    .u32(nl.IFLA_MTU, link.mtu);
  batch.bytes(nl.IFLA_ADDRESS, link.mac).u32(nl.IFLA_MASTER, link.master);
  if (link.permanentMac !== undefined) batch.bytes(nl.IFLA_PERM_ADDRESS, link.permanentMac);
  if (link.alias !== "") batch.text(nl.IFLA_IFALIAS, link.alias);
  if (link.peer !== undefined) batch.u32(nl.IFLA_LINK, link.peer.index);
  batch.u8(nl.IFLA_OPERSTATE, carrier && link.up && link.peer?.up !== false ? nl.IF_OPER_UP : 2);
  batch.nested(nl.IFLA_LINKINFO, () => {
    batch.text(nl.IFLA_INFO_KIND, link.kind);
    if (link.kind === "bridge") {
      const filtering = link.filtering ? 1 : 0;
      batch.nested(nl.IFLA_INFO_DATA, () =>
        batch.u8(nl.IFLA_BR_VLAN_FILTERING, filtering).u16(nl.IFLA_BR_VLAN_DEFAULT_PVID, DEFAULT_VLAN),
      );
    }
  });
  const bytes = batch.encode().slice();
  // A request's flags would read as a dump that was interrupted.
  new DataView(bytes.buffer).setUint16(6, 0, true);
  return bytes;
}
