/** Steps of an ADD with IPAM that concern the container's addresses. */

import { addAddress, dumpAddresses, readAddress } from "../netlink/address.ts";
import { ENOENT } from "../netlink/errno.ts";
import { setLinkUp } from "../netlink/link.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { addRoute } from "../netlink/route.ts";
import { AF_INET6, RTMGRP_IPV6_IFADDR } from "../netlink/rtnetlink.ts";
import { encodeAddresses, readAddressResult } from "../protocol/address-result.ts";
import { ADDRESS_UNUSABLE, CniError } from "../protocol/cni-error.ts";
import { parseAnswer, runDelegate } from "../protocol/delegate.ts";
import { formatIpAddress, isIpv4 } from "../protocol/ip-address.ts";
import type { Step } from "../protocol/steps.ts";
import { type AddState, addressingOf, made, requireLink } from "./add-state.ts";
import { completeAddresses, gatewayFor } from "./addresses.ts";

export { encodeAddresses };

const ADDRESS_TIMEOUT_MS = 5000;

const askIpam: Step<AddState> = {
  name: "ask the IPAM plugin",
  apply(state) {
    const { host, request } = state.call;
    const config = addressingOf(state);
    state.delegated = true;
    const answer = runDelegate({ host, request, type: config.ipam }, "ADD");
    state.addresses = completeAddresses(readAddressResult(parseAnswer(config.ipam, answer), request.version), config);
  },
  undo(state) {
    const { host, request } = state.call;
    if (state.delegated) runDelegate({ host, request, type: addressingOf(state).ipam }, "DEL");
  },
};

/** Before the interface comes up: what the kernel does with addresses, and says of them to others. */
const tuneContainer: Step<AddState> = {
  name: "prepare the container's interface for addresses",
  apply(state) {
    const { netns, attachment } = state;
    const { host } = state.call;
    const { ips } = made(state.addresses, "the addresses");
    const ipv6 = `/proc/sys/net/ipv6/conf/${attachment.ifname}`;
    const optional = (path: string, text: string) => {
      try {
        host.writeFile(netns, path, text);
      } catch (error) {
        // Without IPv6 in the kernel, or where /proc is read-only, the address works all the same.
        if (errnoOf(error) === undefined) throw error;
      }
    };
    if (addressingOf(state).detectDuplicates) optional(`${ipv6}/enhanced_dad`, "1");
    optional(`${ipv6}/accept_dad`, addressingOf(state).detectDuplicates ? "1" : "0");
    optional(`/proc/sys/net/ipv4/conf/${attachment.ifname}/arp_notify`, "1");
    optional(`${ipv6}/ndisc_notify`, "1");
    if (ips.every(({ address }) => isIpv4(address.address))) return;
    for (const ifname of ["lo", attachment.ifname]) {
      const path = `/proc/sys/net/ipv6/conf/${ifname}/disable_ipv6`;
      if (readIfPresent(state, path) === "1") host.writeFile(netns, path, "0");
    }
    host.writeFile(netns, `${ipv6}/keep_addr_on_down`, "1");
  },
};

function readIfPresent({ call, netns }: AddState, path: string): string {
  try {
    return call.host.readFile(netns, path).trim();
  } catch (error) {
    if (errnoOf(error) === ENOENT) return "";
    throw error;
  }
}

const addAddresses: Step<AddState> = {
  name: "give the container its addresses and routes",
  apply(state) {
    const { container, attachment } = state;
    const { ips, routes } = made(state.addresses, "the addresses");
    const { index } = requireLink(container, attachment.ifname);
    const batch = container.batch();
    for (const { address } of ips) addAddress(batch, index, address);
    container.run(setLinkUp(batch, index));
    if (ips.some(({ address }) => !isIpv4(address.address))) awaitUsable(state, index);
    if (routes.length === 0) return;
    const routing = container.batch();
    for (const route of routes) {
      addRoute(routing, {
        destination: route.destination.address,
        length: route.destination.length,
        gateway: gatewayFor(route, ips),
        index,
        priority: route.priority,
        mtu: route.mtu,
        advmss: route.advmss,
        scope: route.scope ?? 0,
        table: route.table ?? 0,
      });
    }
    container.run(routing);
  },
};

/** Nothing can be sent from an IPv6 address that the kernel still probes. */
function awaitUsable(state: AddState, index: number): void {
  const { call, netns, container } = state;
  if (!isTentative(container, index, state.attachment.ifname)) return;
  const deadline = call.host.monotonicMs() + ADDRESS_TIMEOUT_MS;
  const events = new NetlinkSocket(call.host, netns, RTMGRP_IPV6_IFADDR);
  try {
    while (isTentative(container, index, state.attachment.ifname)) {
      const rest = deadline - call.host.monotonicMs();
      if (rest <= 0) throw unusable(state.attachment.ifname, `is not usable after ${ADDRESS_TIMEOUT_MS} ms`);
      call.host.poll([events.fd], Math.ceil(rest));
      events.dropEvents();
    }
  } finally {
    events.close();
  }
}

function isTentative(container: NetlinkSocket, index: number, ifname: string): boolean {
  const [answer] = container.run(dumpAddresses(container.batch(), AF_INET6, index));
  const addresses = (answer?.messages ?? []).map(readAddress).filter((one) => one.index === index);
  const duplicate = addresses.find((one) => one.duplicate);
  if (duplicate !== undefined) {
    throw unusable(ifname, `${formatIpAddress(duplicate.address)} is used by somebody else on the network (DADFAILED)`);
  }
  return addresses.some(({ tentative }) => tentative);
}

function unusable(ifname: string, what: string): CniError {
  return new CniError(ADDRESS_UNUSABLE, `an IPv6 address of interface ${ifname} can't be used: ${what}`);
}

export const addressSteps: readonly Step<AddState>[] = [askIpam, tuneContainer, addAddresses];
