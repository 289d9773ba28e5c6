/** Requests about bridges, their ports, and veth pairs that become ports. */

import type { MessageBatch } from "./message-batch.ts";
import * as nl from "./rtnetlink.ts";

export interface NewBridge {
  readonly name: string;
  /** Absent: the kernel's default. */
  readonly mtu?: number | undefined;
  /** Absent: that of its ports, which changes as they come and go. */
  readonly mac?: Uint8Array | undefined;
  /** A kernel that can't do it ignores it. */
  readonly vlanFiltering?: boolean;
}

/** A new bridge, down. EEXIST when the name is taken. */
export function createBridge(batch: MessageBatch, { name, mtu, mac, vlanFiltering = false }: NewBridge): MessageBatch {
  batch.request(`create bridge ${name}`, nl.RTM_NEWLINK, nl.NLM_F_CREATE | nl.NLM_F_EXCL);
  batch.linkHeader(nl.AF_UNSPEC, 0).text(nl.IFLA_IFNAME, name);
  if (mtu !== undefined) batch.u32(nl.IFLA_MTU, mtu);
  if (mac !== undefined) batch.bytes(nl.IFLA_ADDRESS, mac);
  return bridgeInfo(batch, vlanFiltering);
}

/** EOPNOTSUPP or no effect when the kernel can't do it. */
export function enableVlanFiltering(batch: MessageBatch, index: number): MessageBatch {
  batch.request(`enable VLAN filtering of interface ${index}`, nl.RTM_NEWLINK).linkHeader(nl.AF_UNSPEC, index);
  return bridgeInfo(batch, true);
}

function bridgeInfo(batch: MessageBatch, vlanFiltering: boolean): MessageBatch {
  return batch.nested(nl.IFLA_LINKINFO, () => {
    batch.text(nl.IFLA_INFO_KIND, "bridge");
    if (vlanFiltering) batch.nested(nl.IFLA_INFO_DATA, () => batch.u8(nl.IFLA_BR_VLAN_FILTERING, 1));
  });
}

export interface VethPair {
  /** The end that stays here, down, as a port of `master`. */
  readonly hostName: string;
  readonly master: number;
  /** Absent: the kernel chooses. */
  readonly hostMac?: Uint8Array;
  /** The end that is made in the namespace `netns` (a descriptor), down: a pair's peer can't be made up. */
  readonly peerName: string;
  readonly netns: number;
  /** Absent: the kernel chooses. */
  readonly peerMac: Uint8Array | undefined;
  readonly mtu: number | undefined;
}

/** Both ends in place by one request. EEXIST when either name is taken. */
export function createVethPair(batch: MessageBatch, pair: VethPair): MessageBatch {
  batch.request(
    `create the veth pair ${pair.hostName}, ${pair.peerName}`,
    nl.RTM_NEWLINK,
    nl.NLM_F_CREATE | nl.NLM_F_EXCL,
  );
  batch.linkHeader(nl.AF_UNSPEC, 0).text(nl.IFLA_IFNAME, pair.hostName).u32(nl.IFLA_MASTER, pair.master);
  if (pair.hostMac !== undefined) batch.bytes(nl.IFLA_ADDRESS, pair.hostMac);
  if (pair.mtu !== undefined) batch.u32(nl.IFLA_MTU, pair.mtu);
  return batch.nested(nl.IFLA_LINKINFO, () => {
    batch.text(nl.IFLA_INFO_KIND, "veth");
    batch.nested(nl.IFLA_INFO_DATA, () => {
      batch.nested(nl.VETH_INFO_PEER, () => {
        batch.linkHeader(nl.AF_UNSPEC, 0).text(nl.IFLA_IFNAME, pair.peerName);
        batch.u32(nl.IFLA_NET_NS_FD, pair.netns);
        if (pair.peerMac !== undefined) batch.bytes(nl.IFLA_ADDRESS, pair.peerMac);
        if (pair.mtu !== undefined) batch.u32(nl.IFLA_MTU, pair.mtu);
      });
    });
  });
}

/** The bridge takes no frame from the port and sends none to it. EINVAL or EOPNOTSUPP for what is no port. */
export function disableBridgePort(batch: MessageBatch, index: number): MessageBatch {
  batch.request(`disable the bridge port ${index}`, nl.RTM_SETLINK).linkHeader(nl.AF_BRIDGE, index);
  return batch.nested(nl.IFLA_PROTINFO, () => batch.u8(nl.IFLA_BRPORT_STATE, nl.BR_STATE_DISABLED));
}

export interface BridgePortFlags {
  readonly hairpin: boolean;
  readonly isolated: boolean;
}

/** Only flags that are on: a new port has none. */
export function setBridgePort(batch: MessageBatch, index: number, flags: BridgePortFlags): MessageBatch {
  batch.request(`set the bridge port flags of interface ${index}`, nl.RTM_SETLINK).linkHeader(nl.AF_BRIDGE, index);
  return batch.nested(nl.IFLA_PROTINFO, () => {
    if (flags.hairpin) batch.u8(nl.IFLA_BRPORT_MODE, 1);
    if (flags.isolated) batch.u8(nl.IFLA_BRPORT_ISOLATED, 1);
  });
}
