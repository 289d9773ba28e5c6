/** The VLANs of a port. */

import { addAccessVlan, addTrunkVlans, deleteVlan, rangesOf } from "../netlink/bridge-vlan.ts";
import { ENOENT, EOPNOTSUPP } from "../netlink/errno.ts";
import type { Link } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { accessVlan, kernelLacksFiltering, type VlanConfig } from "./vlan-config.ts";

/** In the order of the reference: what comes later wins for a VLAN that is both. */
export function putIntoVlans(node: NetlinkSocket, bridge: Link, port: Link, vlans: VlanConfig): void {
  const defaultVlan = bridge.bridgeVlans?.defaultVlan ?? 0;
  const batch = node.batch();
  if (!vlans.preserveDefault && defaultVlan !== 0) deleteVlan(batch, port.index, defaultVlan);
  const firstAdd = batch.operations.length;
  if (vlans.accessNamed) addAccessVlan(batch, port.index, vlans.access);
  if (vlans.trunk.length > 0) addTrunkVlans(batch, port.index, rangesOf(vlans.trunk));
  if (!vlans.accessNamed) addAccessVlan(batch, port.index, accessVlan(vlans, defaultVlan));
  for (const [i, { error }] of node.transact(batch).entries()) {
    if (error === undefined || (i < firstAdd && error.errno === ENOENT)) continue;
    if (error.errno === EOPNOTSUPP) throw kernelLacksFiltering(error.message);
    throw error;
  }
}
