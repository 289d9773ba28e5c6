/** The container's addresses and routes, from the IPAM plugin to its interface. */

import { readAddressResult } from "../cni/address-result.ts";
import { ADDRESS_UNUSABLE, CniError } from "../cni/cni-error.ts";
import { execDelegate, outputOf, parseAnswer, runDelegate } from "../cni/delegate.ts";
import { formatIpAddress, isIpv4 } from "../cni/ip-address.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { addAddress, dumpAddresses, readAddress } from "../netlink/address.ts";
import { ENOENT } from "../netlink/errno.ts";
import { requireLink, setLinkUp } from "../netlink/link.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { addRoute } from "../netlink/route.ts";
import { AF_INET6, RTMGRP_IPV6_IFADDR } from "../netlink/rtnetlink.ts";
import type { Addition } from "./add.ts";
import { type Addresses, completeAddresses, gatewayFor } from "./addresses.ts";
import type { AddressingConfig } from "./config.ts";

const ADDRESS_TIMEOUT_MS = 5000;

/** Only when the pair is there: if another ADD has the name, to take back would release that ADD's address. */
export function askIpam({ call, onFailure }: Addition, config: AddressingConfig): Addresses {
  const { syscalls, request } = call;
  const delegate = { syscalls, request, type: config.ipam };
  const ran = execDelegate(delegate, "ADD");
  onFailure("ask the IPAM plugin", () => void runDelegate(delegate, "DEL"));
  const answer = parseAnswer(config.ipam, outputOf(delegate, "ADD", ran));
  return completeAddresses(readAddressResult(answer, request.version), config);
}

/** Gives the container its addresses and routes, and brings its interface up. */
export function addAddresses(addition: Addition, config: AddressingConfig, { ips, routes }: Addresses): void {
  const { attachment, netns } = addition;
  setAnnouncements(addition, config);
  const { index } = requireLink(netns.socket, attachment.ifname);
  const withIpv6 = ips.some(({ address }) => !isIpv4(address.address));
  if (withIpv6) allowIpv6(addition);
  const batch = netns.socket.batch();
  for (const { address } of ips) addAddress(batch, index, address);
  netns.socket.run(setLinkUp(batch, index));
  if (withIpv6) awaitUsable(addition, index);
  if (routes.length === 0) return;
  const routing = netns.socket.batch();
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
  netns.socket.run(routing);
}

/** Before the interface comes up: how the kernel checks and announces its addresses. */
function setAnnouncements({ call, netns, attachment }: Addition, { detectDuplicates }: AddressingConfig): void {
  const ipv6 = ipv6Settings(attachment.ifname);
  const optional = (path: string, text: string) => {
    try {
      call.syscalls.writeFile(netns.fd, path, text);
    } catch (error) {
      // Without IPv6 in the kernel, or where /proc is read-only, the address works all the same.
      if (errnoOf(error) === undefined) throw error;
    }
  };
  if (detectDuplicates) optional(`${ipv6}/enhanced_dad`, "1");
  optional(`${ipv6}/accept_dad`, detectDuplicates ? "1" : "0");
  optional(`/proc/sys/net/ipv4/conf/${attachment.ifname}/arp_notify`, "1");
  optional(`${ipv6}/ndisc_notify`, "1");
}

/** An interface that may have no IPv6 address can't be given one. */
function allowIpv6({ call: { syscalls }, netns: { fd }, attachment }: Addition): void {
  for (const ifname of ["lo", attachment.ifname]) {
    const path = `${ipv6Settings(ifname)}/disable_ipv6`;
    if (readIfPresent(syscalls, fd, path) === "1") syscalls.writeFile(fd, path, "0");
  }
  syscalls.writeFile(fd, `${ipv6Settings(attachment.ifname)}/keep_addr_on_down`, "1");
}

function ipv6Settings(ifname: string): string {
  return `/proc/sys/net/ipv6/conf/${ifname}`;
}

function readIfPresent(syscalls: Syscalls, netns: number, path: string): string {
  try {
    return syscalls.readFile(netns, path).trim();
  } catch (error) {
    if (errnoOf(error) === ENOENT) return "";
    throw error;
  }
}

function atLeastZero(value: number): number {
  return Math.max(0, value);
}

/** Nothing can be sent from an IPv6 address that the kernel still probes. */
function awaitUsable(
  { call: { syscalls }, netns: { fd, socket }, attachment: { ifname } }: Addition,
  index: number,
): void {
  if (!isTentative(socket, index, ifname)) return;
  const deadline = syscalls.monotonicMs() + ADDRESS_TIMEOUT_MS;
  const events = new NetlinkSocket(syscalls, fd, RTMGRP_IPV6_IFADDR);
  try {
    while (isTentative(socket, index, ifname)) {
      const rest = deadline - syscalls.monotonicMs();
      if (rest <= 0)
        throw unusable(
          `an IPv6 address of interface ${ifname}`,
          `is still not usable after ${ADDRESS_TIMEOUT_MS / 1000} s`,
        );
      syscalls.poll([events.fd], Math.ceil(rest));
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
