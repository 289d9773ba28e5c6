/** Steps of an ADD that concern the bridge itself. */

import { CniError, NOT_A_BRIDGE, TRY_AGAIN_LATER } from "../cni/cni-error.ts";
import { randomMacAddress } from "../cni/mac-address.ts";
import type { Step } from "../cni/steps.ts";
import { OWN_NETNS } from "../native/syscalls.ts";
import { createBridge } from "../netlink/bridge.ts";
import { EEXIST, ENODEV, EOPNOTSUPP } from "../netlink/errno.ts";
import { deleteLink, dumpLinks, getLink, type Link, linkOf, setLinkUp, setPromiscuous } from "../netlink/link.ts";
import { errnoOf, type NetlinkSocket } from "../netlink/netlink-socket.ts";
import { IFF_PROMISC } from "../netlink/rtnetlink.ts";
import { type AddState, required } from "./add-state.ts";
import { kernelLacksFiltering } from "./vlan-config.ts";

/**
 * Finds the bridge or makes it, and brings it up. If the kernel's answer was lost, the bridge may be another ADD's: it
 * stays, without ports.
 */
export const ensureBridge: Step<AddState> = {
  name: "ensure the bridge",
  apply(state) {
    const { node, config } = state;
    state.bridgeCreated = false;
    const found = findBridge(node, config.bridge);
    state.bridgeMtu = found?.mtu;
    state.bridge = found ?? newBridge(state);
    if (state.bridge.up) return;
    // Also for a bridge that was there: an ADD that was killed may have made it.
    ignoreRouterAdvertisements(state, config.bridge);
    node.run(setLinkUp(node.batch(), state.bridge.index));
  },
  undo({ node, config, bridgeCreated }) {
    const bridge = bridgeCreated ? findBridge(node, config.bridge) : undefined;
    if (bridge === undefined) return;
    const [ports] = node.run(dumpLinks(node.batch(), bridge.index));
    if (ports?.messages.length === 0) deleteIfPresent(node, bridge.index);
  },
};

/** A bridge that is promiscuous already stays so after the undo. */
export const makeBridgePromiscuous: Step<AddState> = {
  name: "make the bridge promiscuous",
  apply(state) {
    const bridge = required(state.bridge, "the bridge");
    if ((bridge.flags & IFF_PROMISC) !== 0) return;
    state.node.run(setPromiscuous(state.node.batch(), bridge.index, true));
    state.promiscuousSet = true;
  },
  undo({ node, bridge, promiscuousSet }) {
    if (bridge !== undefined && promiscuousSet) node.transact(setPromiscuous(node.batch(), bridge.index, false));
  },
};

export function findBridge(node: NetlinkSocket, name: string): Link | undefined {
  const [answer] = node.transact(getLink(node.batch(), name));
  const link = linkOf(answer);
  if (link === undefined || link.kind === "bridge") return link;
  const kind = link.kind === "" ? "a device" : `a ${link.kind}`;
  throw new CniError(NOT_A_BRIDGE, `"${name}" is ${kind}, not a bridge: name a bridge in the network configuration`);
}

function newBridge(state: AddState): Link {
  const { node, config } = state;
  const name = config.bridge;
  const mtu = config.mtu === "inherit" ? undefined : config.mtu;
  // From the start: it does not change with the ports, and other ADDs at the same time give the same one in their results.
  const mac = randomMacAddress(state.call.syscalls);
  const wanted = { name, mtu, mac, vlanFiltering: config.vlans !== undefined };
  const answers = node.transact(getLink(createBridge(node.batch(), wanted), name));
  const [created, looked] = answers;
  if (created?.error?.errno === EOPNOTSUPP && wanted.vlanFiltering) throw kernelLacksFiltering(created.error.message);
  if (created?.error !== undefined && created.error.errno !== EEXIST) throw created.error;
  state.bridgeCreated = created?.error === undefined;
  const bridge = state.bridgeCreated ? linkOf(looked) : findBridge(node, name);
  if (bridge === undefined) {
    throw new CniError(TRY_AGAIN_LATER, `bridge ${name} was deleted while it was being made: try again`);
  }
  return bridge;
}

/** A node must not take routes from what its containers announce. */
export function ignoreRouterAdvertisements({ call }: AddState, ifname: string): void {
  try {
    call.syscalls.writeFile(OWN_NETNS, `/proc/sys/net/ipv6/conf/${ifname}/accept_ra`, "0");
  } catch {
    // Without IPv6 there is nothing to switch off, and a read-only /proc gives no way to do it.
  }
}

export function deleteIfPresent(node: NetlinkSocket, which: string | number): void {
  const [answer] = node.transact(deleteLink(node.batch(), which));
  if (answer?.error !== undefined && errnoOf(answer.error) !== ENODEV) throw answer.error;
}
