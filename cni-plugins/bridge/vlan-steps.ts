/** Steps of an ADD that put the port, and the gateway, into their VLANs. */

import { CniError, INVALID_CONFIG } from "../cni/cni-error.ts";
import { randomPortMacAddress } from "../cni/mac-address.ts";
import type { Step } from "../cni/steps.ts";
import { createVethPair, enableVlanFiltering } from "../netlink/bridge.ts";
import { addAccessVlan, addTrunkVlans, deleteVlan, rangesOf } from "../netlink/bridge-vlan.ts";
import { EEXIST, ENOENT, EOPNOTSUPP } from "../netlink/errno.ts";
import { getLink, type Link, linkOf, setLinkUp } from "../netlink/link.ts";
import { type AddState, required, requireLink } from "./add-state.ts";
import { hostInterfaceName } from "./attachment.ts";
import { deleteIfPresent, ignoreRouterAdvertisements } from "./bridge-steps.ts";
import { gatewayName } from "./config.ts";
import { accessVlan, kernelLacksFiltering, type VlanConfig } from "./vlan-config.ts";

/** VLANs of a port isolate only on a bridge that filters. */
export const requireFiltering: Step<AddState> = {
  name: "look at the bridge's VLAN filtering",
  apply(state) {
    const { node, call } = state;
    const bridge = required(state.bridge, "the bridge");
    const vlans = vlansOf(state);
    if (bridge.bridgeVlans?.filtering === undefined) throw kernelLacksFiltering("");
    if (bridge.bridgeVlans.filtering) return;
    if (vlans.enableFiltering) {
      node.run(enableVlanFiltering(node.batch(), bridge.index));
      state.bridge = requireLink(node, bridge.index);
      return;
    }
    if (vlans.requireFiltering) {
      throw new CniError(INVALID_CONFIG, `${isolatesNothing(bridge.name)} or set "enableVlanFiltering"`);
    }
    call.warn(isolatesNothing(bridge.name));
  },
};

export function isolatesNothing(bridge: string): string {
  return `bridge ${bridge} does not filter VLANs, so they isolate nothing: run "ip link set ${bridge} type bridge vlan_filtering 1"`;
}

export const setPortVlans: Step<AddState> = {
  name: "set the port's VLANs",
  apply(state) {
    const { node } = state;
    putIntoVlans(state, requireLink(node, required(state.portName, "the veth pair")), vlansOf(state));
  },
};

/** The gateway's interface is one end of a veth pair whose other end is an access port of the VLAN. */
export const makeVlanGateway: Step<AddState> = {
  name: "make the gateway's interface in the VLAN",
  apply(state) {
    const { node } = state;
    const bridge = required(state.bridge, "the bridge");
    const { name } = gatewayNames(state);
    const found = linkOf(node.transact(getLink(node.batch(), name))[0]);
    if (found === undefined) createGateway(state, bridge);
    const gateway = found ?? requireLink(node, name);
    state.vlanGateway = gateway;
    // It comes up last: one that is down may be what an ADD made that was killed.
    if (gateway.up) return;
    const port = linkOf(node.transact(getLink(node.batch(), gateway.peer))[0]);
    if (port?.master === bridge.index) {
      ignoreRouterAdvertisements(state, port.name);
      putIntoVlans(state, port, { ...vlansOf(state), trunk: [] });
      node.run(setLinkUp(node.batch(), port.index));
    }
    node.run(setLinkUp(node.batch(), gateway.index));
  },
  undo(state) {
    if (state.vlanGatewayCreated) deleteIfPresent(state.node, gatewayNames(state).hostName);
  },
};

/** Another ADD may make it at the same time. */
function createGateway(state: AddState, bridge: Link): void {
  const { node, call } = state;
  const { hostName, name } = gatewayNames(state);
  const netns = call.syscalls.openNetns("/proc/self/ns/net");
  const hostMac = randomPortMacAddress(call.syscalls);
  const pair = { hostName, hostMac, master: bridge.index, peerName: name, netns, peerMac: undefined, mtu: bridge.mtu };
  const [created] = node.transact(createVethPair(node.batch(), pair));
  call.syscalls.close(netns);
  if (created?.error !== undefined && created.error.errno !== EEXIST) throw created.error;
  state.vlanGatewayCreated = created?.error === undefined;
}

/** Names of the two ends of the gateway's veth pair. */
function gatewayNames(state: AddState): { readonly hostName: string; readonly name: string } {
  const name = gatewayName(state.config);
  return { hostName: hostInterfaceName({ ...state.attachment, containerId: "gateway", ifname: name }), name };
}

/** In the order of the reference: what comes later wins for a VLAN that is both. */
function putIntoVlans({ node, bridge }: AddState, port: Link, vlans: VlanConfig): void {
  const defaultVlan = bridge?.bridgeVlans?.defaultVlan ?? 0;
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

function vlansOf({ config }: AddState): VlanConfig {
  return required(config.vlans, "the VLAN configuration");
}
