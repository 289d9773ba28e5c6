/** Steps of an ADD with IPAM that concern the container's addresses. */

import { readAddressResult } from "../cni/address-result.ts";
import { ADDRESS_UNUSABLE, CniError } from "../cni/cni-error.ts";
import { parseAnswer, runDelegate } from "../cni/delegate.ts";
import { formatIpAddress, isIpv4 } from "../cni/ip-address.ts";
import type { Step } from "../cni/steps.ts";
import { addAddress, dumpAddresses, readAddress } from "../netlink/address.ts";
import { ENOENT } from "../netlink/errno.ts";
import { setLinkUp } from "../netlink/link.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { addRoute } from "../netlink/route.ts";
import { AF_INET6, RTMGRP_IPV6_IFADDR } from "../netlink/rtnetlink.ts";
import { type AddState, addressingOf, required, requireLink } from "./add-state.ts";
import { completeAddresses, gatewayFor } from "./addresses.ts";

const ADDRESS_TIMEOUT_MS = 5000;

/**
 * The IPAM plugin works while steps that need no address go on. It is asked only when the pair is there: if another ADD has
 * the name, the undo would release that ADD's address.
 */
export const askIpam: Step<AddState> = {
  name: "ask the IPAM plugin",
  apply(state) {
    required(state.ipam, "the IPAM plugin").ask();
  },
  undo(state) {
    if (!state.ipam?.wasAsked) return;
    state.ipam.end();
    const { syscalls, request } = state.call;
    runDelegate({ syscalls, request, type: addressingOf(state).ipam }, "DEL");
  },
};

/** Before the interface comes up: how the kernel checks and announces its addresses. */
const prepareContainer: Step<AddState> = {
  name: "prepare the container's interface for addresses",
  apply(state) {
    const { netns, attachment, container, call } = state;
    const ipv6 = ipv6Settings(attachment.ifname);
    const optional = (path: string, text: string) => {
      try {
        call.syscalls.writeFile(netns, path, text);
      } catch (error) {
        // Without IPv6 in the kernel, or where /proc is read-only, the address works all the same.
        if (errnoOf(error) === undefined) throw error;
      }
    };
    if (addressingOf(state).detectDuplicates) optional(`${ipv6}/enhanced_dad`, "1");
    optional(`${ipv6}/accept_dad`, addressingOf(state).detectDuplicates ? "1" : "0");
    optional(`/proc/sys/net/ipv4/conf/${attachment.ifname}/arp_notify`, "1");
    optional(`${ipv6}/ndisc_notify`, "1");
    state.containerIndex = requireLink(container, attachment.ifname).index;
  },
};

const takeAddresses: Step<AddState> = {
  name: "take the IPAM plugin's answer",
  apply(state) {
    const config = addressingOf(state);
    const answer = parseAnswer(config.ipam, required(state.ipam, "the IPAM plugin").answer());
    state.addresses = completeAddresses(readAddressResult(answer, state.call.request.version), config);
  },
};

/** An interface that may have no IPv6 address can't be given one. */
function allowIpv6(state: AddState): void {
  const { netns, attachment, call } = state;
  for (const ifname of ["lo", attachment.ifname]) {
    const path = `${ipv6Settings(ifname)}/disable_ipv6`;
    if (readIfPresent(state, path) === "1") call.syscalls.writeFile(netns, path, "0");
  }
  call.syscalls.writeFile(netns, `${ipv6Settings(attachment.ifname)}/keep_addr_on_down`, "1");
}

function ipv6Settings(ifname: string): string {
  return `/proc/sys/net/ipv6/conf/${ifname}`;
}

function readIfPresent({ call, netns }: AddState, path: string): string {
  try {
    return call.syscalls.readFile(netns, path).trim();
  } catch (error) {
    if (errnoOf(error) === ENOENT) return "";
    throw error;
  }
}

const addAddresses: Step<AddState> = {
  name: "give the container its addresses and routes",
  apply(state) {
    const { container } = state;
    const { ips, routes } = required(state.addresses, "the addresses");
    const index = required(state.containerIndex, "the container's interface");
    const withIpv6 = ips.some(({ address }) => !isIpv4(address.address));
    if (withIpv6) allowIpv6(state);
    const batch = container.batch();
    for (const { address } of ips) addAddress(batch, index, address);
    container.run(setLinkUp(batch, index));
    if (withIpv6) awaitUsable(state, index);
    if (routes.length === 0) return;
    const routing = container.batch();
    for (const route of routes) {
      addRoute(routing, {
        destination: route.destination.address,
        length: route.destination.length,
        gateway: gatewayFor(route, ips),
        index,
        priority: atLeastZero(route.priority),
        mtu: atLeastZero(route.mtu),
        advmss: atLeastZero(route.advmss),
        scope: (route.scope ?? 0) & 0xff,
        table: atLeastZero(route.table ?? 0),
      });
    }
    container.run(routing);
  },
};

function atLeastZero(value: number): number {
  return Math.max(0, value);
}

/** Nothing can be sent from an IPv6 address that the kernel still probes. */
function awaitUsable(state: AddState, index: number): void {
  const { call, netns, container } = state;
  if (!isTentative(container, index, state.attachment.ifname)) return;
  const deadline = call.syscalls.monotonicMs() + ADDRESS_TIMEOUT_MS;
  const events = new NetlinkSocket(call.syscalls, netns, RTMGRP_IPV6_IFADDR);
  try {
    while (isTentative(container, index, state.attachment.ifname)) {
      const rest = deadline - call.syscalls.monotonicMs();
      if (rest <= 0)
        throw unusable(
          `an IPv6 address of interface ${state.attachment.ifname}`,
          `is still not usable after ${ADDRESS_TIMEOUT_MS / 1000} s`,
        );
      call.syscalls.poll([events.fd], Math.ceil(rest));
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
    throw unusable(
      `IPv6 address ${formatIpAddress(duplicate.address)} of interface ${ifname}`,
      "is in use by another host on the network (DADFAILED)",
    );
  }
  return addresses.some(({ tentative }) => tentative);
}

function unusable(address: string, fault: string): CniError {
  return new CniError(ADDRESS_UNUSABLE, `${address} ${fault}: look for duplicates of it on the network`);
}

export const addressSteps: readonly Step<AddState>[] = [prepareContainer, takeAddresses, addAddresses];
