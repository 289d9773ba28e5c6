/** CHECK of the VLANs of a port. */

import { dumpPortVlans, type PortVlan, readPortVlans } from "../netlink/bridge-vlan.ts";
import { type Link, readLink } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { accessVlan, type VlanConfig } from "./vlan-config.ts";

/** A predecessor of the reference left it on every port. */
const LEFT_BY_PREDECESSOR = 1;

export interface CheckedVlans {
  readonly port: Link;
  readonly bridge: Link;
  readonly vlans: VlanConfig;
  /** The port is one that this plugin made. */
  readonly own: boolean;
}

/** Why the port's VLANs are not as ADD made them; undefined when they are. */
export function vlanFault(node: NetlinkSocket, { port, bridge, vlans, own }: CheckedVlans): string | undefined {
  const { error, messages } = node.dump(dumpPortVlans);
  if (error !== undefined) throw error;
  const message = messages.find((one) => readLink(one).index === port.index);
  const present = message === undefined ? [] : readPortVlans(message);
  const presentById = byId(present);
  const wantedById = byId(wantedVlans(vlans, own ? (bridge.bridgeVlans?.defaultVlan ?? 0) : 0));
  for (const wanted of wantedById.filter((one) => one !== undefined)) {
    const found = presentById[wanted.id];
    if (found === undefined) return `${port.name} ${wanted.pvid ? "is not in" : "does not carry"} VLAN ${wanted.id}`;
    if (found.pvid !== wanted.pvid || found.untagged !== wanted.untagged) {
      return `${port.name} has VLAN ${wanted.id} as ${describe(found)}, not as ${describe(wanted)}`;
    }
  }
  const left = [
    ...(vlans.preserveDefault || !own ? [bridge.bridgeVlans?.defaultVlan] : []),
    ...(own ? [] : [LEFT_BY_PREDECESSOR]),
  ];
  const added = present.find(({ id }) => wantedById[id] === undefined && !left.includes(id));
  return added === undefined ? undefined : `${port.name} carries VLAN ${added.id}, which ADD did not give it`;
}

/** As the steps of ADD leave them: what comes later wins for a VLAN that is both. */
function wantedVlans(vlans: VlanConfig, defaultVlan: number): readonly PortVlan[] {
  const { accessNamed, trunk } = vlans;
  const untagged = { id: accessVlan(vlans, defaultVlan), pvid: true, untagged: true };
  const tagged = trunk.map((id) => ({ id, pvid: false, untagged: false }));
  return accessNamed ? [untagged, ...tagged] : [...tagged, untagged];
}

/** The last one of each number. */
function byId(vlans: readonly PortVlan[]): readonly (PortVlan | undefined)[] {
  const found: (PortVlan | undefined)[] = [];
  for (const one of vlans) found[one.id] = one;
  return found;
}

function describe({ pvid, untagged }: PortVlan): string {
  return `${pvid ? "that of untagged frames" : "one of tagged frames"}, sent ${untagged ? "untagged" : "with its tag"}`;
}
