/** Steps of an ADD that make the node the containers' gateway. */

import { ADDRESS_CONFLICT, CniError } from "../cni/cni-error.ts";
import { contains, formatIpPrefix, type IpPrefix, isIpv4, samePrefix } from "../cni/ip-address.ts";
import { parseMacAddress } from "../cni/mac-address.ts";
import type { Step } from "../cni/steps.ts";
import { OWN_NETNS } from "../native/syscalls.ts";
import { addAddress, deleteAddress, dumpAddresses, familyOf, readAddress } from "../netlink/address.ts";
import { EEXIST } from "../netlink/errno.ts";
import { getLink, type Link, linkOf } from "../netlink/link.ts";
import { setLinkMac } from "../netlink/link-tuning.ts";
import { type AddState, addressingOf, required } from "./add-state.ts";

const addGatewayAddresses: Step<AddState> = {
  name: "give the bridge its gateway addresses",
  apply(state) {
    const { gateways } = required(state.addresses, "the addresses");
    const link = state.vlanGateway ?? required(state.bridge, "the bridge");
    for (const gateway of gateways) ensureAddress(state, link, gateway);
  },
  undo(state) {
    const { node } = state;
    for (const { index, address, added } of state.gatewayChanges.toReversed()) {
      const batch = node.batch();
      node.transact(added ? deleteAddress(batch, index, address) : addAddress(batch, index, address));
    }
  },
};

function ensureAddress(state: AddState, link: Link, gateway: IpPrefix): void {
  const { node, gatewayChanges } = state;
  const [answer] = node.run(dumpAddresses(node.batch(), familyOf(gateway.address), link.index));
  const present = (answer?.messages ?? []).map(readAddress).filter(({ index }) => index === link.index);
  if (present.some((one) => samePrefix(one, gateway))) return;
  const conflicting = present.filter((one) => conflicts(one, gateway));
  if (conflicting.length > 0 && !addressingOf(state).forceAddress) throw conflict(link, conflicting, gateway);
  for (const { address, length } of conflicting) {
    node.run(deleteAddress(node.batch(), link.index, { address, length }));
    gatewayChanges.push({ index: link.index, address: { address, length }, added: false });
  }
  const [added] = node.transact(addAddress(node.batch(), link.index, gateway));
  if (added?.error === undefined) gatewayChanges.push({ index: link.index, address: gateway, added: true });
  else if (added.error.errno !== EEXIST) throw added.error;
  pinMac(state, link);
}

/** A bridge that was given no MAC of its own takes its ports' lowest one, which changes as they come and go. */
function pinMac({ node }: AddState, link: Link): void {
  const before = parseMacAddress(link.mac);
  // One that lost its last port has none until the next one comes.
  const isNone = before === undefined || before.every((byte) => byte === 0);
  const mac = isNone ? parseMacAddress(linkOf(node.run(getLink(node.batch(), link.index))[0])?.mac ?? "") : before;
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
const enableForwarding: Step<AddState> = {
  name: "let the node forward",
  apply(state) {
    const { gateways } = required(state.addresses, "the addresses");
    const { syscalls } = state.call;
    const enable = (path: string) => {
      if (syscalls.readFile(OWN_NETNS, path).trim() !== "1") syscalls.writeFile(OWN_NETNS, path, "1");
    };
    if (gateways.some(({ address }) => isIpv4(address))) enable("/proc/sys/net/ipv4/ip_forward");
    if (gateways.some(({ address }) => !isIpv4(address))) enable("/proc/sys/net/ipv6/conf/all/forwarding");
  },
};

export const gatewaySteps: readonly Step<AddState>[] = [addGatewayAddresses, enableForwarding];
