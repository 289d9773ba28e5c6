/** Makes the node the containers' gateway. */

import { ADDRESS_CONFLICT, CniError } from "../cni/cni-error.ts";
import { contains, formatIpPrefix, type IpPrefix, isIpv4, samePrefix } from "../cni/ip-address.ts";
import { parseMacAddress, randomPortMacAddress } from "../cni/mac-address.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { addAddress, deleteAddress, dumpAddresses, familyOf, readAddress } from "../netlink/address.ts";
import { createVethPair } from "../netlink/bridge.ts";
import { EEXIST } from "../netlink/errno.ts";
import { deleteIfPresent, findLink, type Link, requireLink, setLinkUp } from "../netlink/link.ts";
import { setLinkMac } from "../netlink/link-tuning.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Addition } from "./add.ts";
import { hostInterfaceName } from "./attachment.ts";
import { type AddressingConfig, gatewayName } from "./config.ts";
import { putIntoVlans } from "./port-vlans.ts";
import { ignoreRouterAdvertisements } from "./router-advertisements.ts";
import type { VlanConfig } from "./vlan-config.ts";

/** The gateway's interface is one end of a veth pair whose other end is an access port of the VLAN. */
export function makeVlanGateway(addition: Addition, bridge: Link, vlans: VlanConfig): Link {
  const { call, config, node } = addition;
  const name = gatewayName(config);
  const found = findLink(node, name);
  if (found === undefined) createGateway(addition, bridge, name);
  const gateway = found ?? requireLink(node, name);
  // It comes up last: one that is down may be what an ADD made that was killed.
  if (gateway.up) return gateway;
  const port = findLink(node, gateway.peer);
  if (port?.master === bridge.index) {
    ignoreRouterAdvertisements(call.syscalls, port.name);
    putIntoVlans(node, bridge, port, { ...vlans, trunk: [] });
    node.run(setLinkUp(node.batch(), port.index));
  }
  node.run(setLinkUp(node.batch(), gateway.index));
  return gateway;
}

/** Another ADD may make it at the same time. */
function createGateway({ call, attachment, node, onFailure }: Addition, bridge: Link, name: string): void {
  const hostName = hostInterfaceName({ ...attachment, containerId: "gateway", ifname: name });
  const netns = call.syscalls.openNetns("/proc/self/ns/net");
  const hostMac = randomPortMacAddress(call.syscalls);
  const pair = { hostName, hostMac, master: bridge.index, peerName: name, netns, peerMac: undefined, mtu: bridge.mtu };
  const [created] = node.transact(createVethPair(node.batch(), pair));
  call.syscalls.close(netns);
  if (created?.error === undefined) {
    onFailure("make the gateway's interface in the VLAN", () => deleteIfPresent(node, hostName));
  } else if (created.error.errno !== EEXIST) throw created.error;
}

export function addGatewayAddresses(
  addition: Addition,
  config: AddressingConfig,
  link: Link,
  gateways: readonly IpPrefix[],
): void {
  for (const gateway of gateways) ensureAddress(addition, config, link, gateway);
}

function ensureAddress({ node, onFailure }: Addition, config: AddressingConfig, link: Link, gateway: IpPrefix): void {
  const { index } = link;
  const [answer] = node.run(dumpAddresses(node.batch(), familyOf(gateway.address), index));
  const present = (answer?.messages ?? []).map(readAddress).filter((one) => one.index === index);
  if (present.some((one) => samePrefix(one, gateway))) return;
  const conflicting = present.filter((one) => conflicts(one, gateway));
  if (conflicting.length > 0 && !config.forceAddress) throw conflict(link, conflicting, gateway);
  const what = "give the bridge its gateway addresses";
  for (const { address, length } of conflicting) {
    node.run(deleteAddress(node.batch(), index, { address, length }));
    onFailure(what, () => void node.transact(addAddress(node.batch(), index, { address, length })));
  }
  const [added] = node.transact(addAddress(node.batch(), index, gateway));
  if (added?.error === undefined) {
    onFailure(what, () => void node.transact(deleteAddress(node.batch(), index, gateway)));
  } else if (added.error.errno !== EEXIST) throw added.error;
  pinMac(node, link);
}

/** A bridge that was given no MAC of its own takes its ports' lowest one, which changes as they come and go. */
function pinMac(node: NetlinkSocket, link: Link): void {
  const before = parseMacAddress(link.mac);
  // One that lost its last port has none until the next one comes.
  const isNone = before === undefined || before.every((byte) => byte === 0);
  const mac = isNone ? parseMacAddress(requireLink(node, link.index).mac) : before;
  if (mac !== undefined) node.run(setLinkMac(node.batch(), link.index, mac));
}

/** A bridge has one IPv4 address, and one IPv6 address in each network. */
export function conflicts(present: IpPrefix, wanted: IpPrefix): boolean {
  return isIpv4(wanted.address) || contains(present, wanted.address) || contains(wanted, present.address);
}

function conflict(link: Link, present: readonly IpPrefix[], wanted: IpPrefix): CniError {
  const found = present.map(formatIpPrefix).join(", ");
  return new CniError(
    ADDRESS_CONFLICT,
    `"${link.name}" already has an IP address different from ${formatIpPrefix(wanted)}: ${found}; remove it, choose the same subnet, or set "forceAddress"`,
  );
}

/** Not taken back: other containers may need it by then. */
export function enableForwarding(syscalls: Syscalls, gateways: readonly IpPrefix[]): void {
  const enable = (path: string) => {
    if (syscalls.readFile(OWN_NETNS, path).trim() !== "1") syscalls.writeFile(OWN_NETNS, path, "1");
  };
  if (gateways.some(({ address }) => isIpv4(address))) enable("/proc/sys/net/ipv4/ip_forward");
  if (gateways.some(({ address }) => !isIpv4(address))) enable("/proc/sys/net/ipv6/conf/all/forwarding");
}
