/** The bridge: finds it or makes it, and makes it ready for ports. */

import { CniError, INVALID_CONFIG, NOT_A_BRIDGE, TRY_AGAIN_LATER } from "../cni/cni-error.ts";
import { formatMacAddress, randomMacAddress } from "../cni/mac-address.ts";
import { createBridge, enableVlanFiltering } from "../netlink/bridge.ts";
import { EEXIST, EOPNOTSUPP } from "../netlink/errno.ts";
import {
  deleteIfPresent,
  dumpLinks,
  findLink,
  getLink,
  type Link,
  linkOf,
  requireLink,
  setLinkUp,
  setPromiscuous,
} from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { IFF_PROMISC } from "../netlink/rtnetlink.ts";
import type { Addition } from "./add.ts";
import { ignoreRouterAdvertisements } from "./router-advertisements.ts";
import { isolatesNothing, kernelLacksFiltering, type VlanConfig } from "./vlan-config.ts";

export interface ReadyBridge {
  readonly bridge: Link;
  /** The MTU of a bridge that was there before. */
  readonly bridgeMtu: number | undefined;
}

/** The bridge, which is up, promiscuous and filters VLANs as far as the configuration asks for it. */
export function readyBridge(addition: Addition): ReadyBridge {
  const { call, config, node, onFailure } = addition;
  const found = findBridge(node, config.bridge);
  const bridge = found ?? newBridge(addition);
  if (!bridge.up) {
    // Also for a bridge that was there: an ADD that was killed may have made it.
    ignoreRouterAdvertisements(call.syscalls, config.bridge);
    node.run(setLinkUp(node.batch(), bridge.index));
  }
  if (config.promiscuous && (bridge.flags & IFF_PROMISC) === 0) {
    node.run(setPromiscuous(node.batch(), bridge.index, true));
    onFailure("make the bridge promiscuous", () => {
      node.transact(setPromiscuous(node.batch(), bridge.index, false));
    });
  }
  const filtering = config.vlans === undefined ? bridge : filteringBridge(addition, bridge, config.vlans);
  return { bridge: filtering, bridgeMtu: found?.mtu };
}

export function findBridge(node: NetlinkSocket, name: string): Link | undefined {
  const link = findLink(node, name);
  if (link === undefined || link.kind === "bridge") return link;
  const kind = link.kind === "" ? "a device" : `a ${link.kind}`;
  throw new CniError(NOT_A_BRIDGE, `"${name}" is ${kind}, not a bridge: name a bridge in the network configuration`);
}

/** If the kernel's answer was lost, the bridge may be another ADD's: it stays, without ports. */
function newBridge({ call, config, node, onFailure }: Addition): Link {
  const name = config.bridge;
  const mtu = config.mtu === "inherit" ? undefined : config.mtu;
  // From the start: it does not change with the ports, and other ADDs at the same time give the same one in their results.
  const mac = randomMacAddress(call.syscalls);
  const wanted = { name, mtu, mac, vlanFiltering: config.vlans !== undefined };
  const [created, found] = node.transact(getLink(createBridge(node.batch(), wanted), name));
  if (created?.error?.errno === EOPNOTSUPP && wanted.vlanFiltering) throw kernelLacksFiltering(created.error.message);
  if (created?.error !== undefined && created.error.errno !== EEXIST) throw created.error;
  const isOurs = created?.error === undefined;
  if (isOurs) onFailure("ensure the bridge", () => removeBridge(node, name, mac));
  const bridge = isOurs ? linkOf(found) : findBridge(node, name);
  if (bridge === undefined) {
    throw new CniError(TRY_AGAIN_LATER, `bridge ${name} was deleted while it was being made: try again`);
  }
  return bridge;
}

/** Unless it is another ADD's or has ports by now. */
function removeBridge(node: NetlinkSocket, name: string, mac: Uint8Array): void {
  const bridge = findBridge(node, name);
  if (bridge?.mac !== formatMacAddress(mac)) return;
  const [ports] = node.run(dumpLinks(node.batch(), bridge.index));
  if (ports?.messages.length === 0) deleteIfPresent(node, bridge.index);
}

/** VLANs of a port isolate only on a bridge that filters. */
function filteringBridge({ call, node }: Addition, bridge: Link, vlans: VlanConfig): Link {
  if (bridge.bridgeVlans?.filtering === undefined) throw kernelLacksFiltering("");
  if (bridge.bridgeVlans.filtering) return bridge;
  if (vlans.enableFiltering) {
    node.run(enableVlanFiltering(node.batch(), bridge.index));
    return requireLink(node, bridge.index);
  }
  if (vlans.requireFiltering) {
    throw new CniError(INVALID_CONFIG, `${isolatesNothing(bridge.name)} or set "enableVlanFiltering"`);
  }
  call.warn(isolatesNothing(bridge.name));
  return bridge;
}
