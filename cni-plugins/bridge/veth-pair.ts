/** The veth pair: the port on the bridge and the container's interface. */

import { CniError, INTERFACE_EXISTS, KERNEL_REFUSED, PORT_NOT_UP, TRY_AGAIN_LATER } from "../cni/cni-error.ts";
import { isPortMacAddress, parseMacAddress, randomPortMacAddress } from "../cni/mac-address.ts";
import { OWN_NETNS } from "../native/syscalls.ts";
import { createVethPair, setBridgePort } from "../netlink/bridge.ts";
import { EEXIST, ENOENT, EXFULL } from "../netlink/errno.ts";
import { deleteIfPresent, findLink, type Link, requireLink, setLinkUp } from "../netlink/link.ts";
import { setLinkMac, setLinkMtu } from "../netlink/link-tuning.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { IF_OPER_UP, RTMGRP_LINK } from "../netlink/rtnetlink.ts";
import type { Addition } from "./add.ts";
import { HOST_NAME_CANDIDATES, hostInterfaceAlias, hostInterfaceName } from "./attachment.ts";
import { type ReadyBridge, readyBridge } from "./bridge-link.ts";
import { ignoreRouterAdvertisements } from "./router-advertisements.ts";

/** How often the bridge may be deleted during one ADD. */
const BRIDGE_RETRIES = 3;

/** BR_MAX_PORTS of the kernel without number 0. */
const MOST_PORTS = 1023;

const PORT_UP_TIMEOUT_MS = 2500;

/** Of a pair whose configuration names none. */
const DEFAULT_MTU = 1500;

export interface Pair extends ReadyBridge {
  /** Name of the node's end. */
  readonly portName: string;
}

/** Both ends in place, down, the one a port of the bridge. */
export function createPair(addition: Addition, mac: Uint8Array): Pair {
  const { attachment, node, onFailure } = addition;
  let ready = readyBridge(addition);
  for (let candidate = 0, retries = 0; candidate < HOST_NAME_CANDIDATES; ) {
    const portName = hostInterfaceName(attachment, candidate);
    const [created] = node.transact(requestPair(addition, portName, mac, ready.bridge));
    if (created?.error === undefined) {
      onFailure("create the veth pair", () => deleteIfPresent(node, portName));
      return { ...ready, portName };
    }
    if (created.error.errno === EEXIST) {
      const existing = findLink(node, portName);
      if (existing === undefined || existing.alias === hostInterfaceAlias(attachment)) throw interfaceExists(addition);
      candidate++;
    } else if (created.error.errno === EXFULL) {
      throw bridgeFull(ready.bridge, created.error);
    } else {
      if (++retries > BRIDGE_RETRIES || findLink(node, ready.bridge.index) !== undefined) throw created.error;
      ready = readyBridge(addition);
    }
  }
  throw new CniError(
    TRY_AGAIN_LATER,
    "all names for the node's end of the veth pair are taken by other interfaces: remove one of them",
  );
}

function requestPair(addition: Addition, hostName: string, mac: Uint8Array, bridge: Link) {
  const { node, attachment, netns, config, call } = addition;
  const batch = createVethPair(node.batch(), {
    hostName,
    master: bridge.index,
    hostMac: randomPortMacAddress(call.syscalls),
    peerName: attachment.ifname,
    netns: netns.fd,
    peerMac: mac,
    mtu: config.mtu === "inherit" ? bridge.mtu : (config.mtu ?? Math.min(DEFAULT_MTU, bridge.mtu)),
  });
  // A bridge whose MTU nobody set follows its smallest port.
  const keepsMtu = config.mtu === undefined && bridge.mtu > DEFAULT_MTU;
  return keepsMtu ? setLinkMtu(batch, bridge.index, bridge.mtu) : batch;
}

function bridgeFull({ name }: Link, { message }: Error): CniError {
  return new CniError(
    KERNEL_REFUSED,
    `bridge ${name} has ${MOST_PORTS} ports, the most that the kernel allows: use another bridge, or run the container on another node`,
    message,
  );
}

function interfaceExists({ attachment: { ifname }, call }: Addition): CniError {
  const where = `network namespace ${call.request.netns}`;
  return new CniError(
    INTERFACE_EXISTS,
    `interface ${ifname} already exists in ${where}: DEL it first or choose another name`,
  );
}

/** Sets the port's flags before it forwards anything, then names the attachment in its alias and brings it up. */
export function configurePort({ call, config, attachment, node }: Addition, { portName }: Pair): void {
  if (config.hairpin || config.isolated) {
    const { index } = requireLink(node, portName);
    node.run(setBridgePort(node.batch(), index, config));
  }
  ignoreRouterAdvertisements(call.syscalls, portName);
  node.run(setLinkUp(node.batch(), portName, hostInterfaceAlias(attachment)));
}

/** Keeps the container's interface from sending anything of its own. */
export function keepQuiet({ call: { syscalls }, netns, attachment }: Addition): void {
  try {
    syscalls.writeFile(netns.fd, `/proc/sys/net/ipv6/conf/${attachment.ifname}/disable_ipv6`, "1");
  } catch (error) {
    // Without IPv6 in the kernel, and where the MTU is too small for it, the interface has nothing to send.
    if (errnoOf(error) !== ENOENT) throw error;
  }
}

/** Bridge and port as they are now: the bridge's MAC and MTU may have changed with its first ports. */
export function readBack(node: NetlinkSocket, { portName, bridge: before }: Pair): { port: Link; bridge: Link } {
  const port = requireLink(node, portName);
  const bridge = requireLink(node, before.index);
  const tookPorts = bridge.mac !== before.mac && isPortMacAddress(bridge.mac);
  return { port, bridge: tookPorts ? keepMac(node, before, bridge) : bridge };
}

/** A bridge without other ports took the port's address, and would change it again as such ports come and go. */
function keepMac(node: NetlinkSocket, before: Link, now: Link): Link {
  const had = parseMacAddress(before.mac);
  // One that lost its last port has none.
  const mac = had?.some((octet) => octet !== 0) ? had : parseMacAddress(now.mac);
  if (mac !== undefined) node.run(setLinkMac(node.batch(), before.index, mac));
  return requireLink(node, before.index);
}

/** A runtime may send through the interface as soon as ADD returns. */
export function awaitPortUp({ call: { syscalls }, node }: Addition, port: Link): void {
  if (port.operState === IF_OPER_UP) return;
  const deadline = syscalls.monotonicMs() + PORT_UP_TIMEOUT_MS;
  const events = new NetlinkSocket(syscalls, OWN_NETNS, RTMGRP_LINK);
  try {
    while (requireLink(node, port.index).operState !== IF_OPER_UP) {
      const rest = deadline - syscalls.monotonicMs();
      if (rest <= 0) throw portNotUp(port.name);
      syscalls.poll([events.fd], Math.ceil(rest));
      events.dropEvents();
    }
  } finally {
    events.close();
  }
}

function portNotUp(name: string): CniError {
  return new CniError(
    PORT_NOT_UP,
    `bridge port ${name} did not come up within ${PORT_UP_TIMEOUT_MS / 1000} s: see the node's kernel log`,
  );
}
