/** Steps of an ADD that concern the veth pair: the port on the bridge and the container's interface. */

import { CniError, INTERFACE_EXISTS, KERNEL_REFUSED, PORT_NOT_UP, TRY_AGAIN_LATER } from "../cni/cni-error.ts";
import { isPortMacAddress, parseMacAddress, randomPortMacAddress } from "../cni/mac-address.ts";
import type { Step } from "../cni/steps.ts";
import { OWN_NETNS } from "../native/syscalls.ts";
import { createVethPair, setBridgePort } from "../netlink/bridge.ts";
import { EEXIST, EXFULL } from "../netlink/errno.ts";
import { getLink, type Link, linkOf, setLinkUp } from "../netlink/link.ts";
import { setLinkMac, setLinkMtu } from "../netlink/link-tuning.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { IF_OPER_UP, RTMGRP_LINK } from "../netlink/rtnetlink.ts";
import { type AddState, required, requireLink } from "./add-state.ts";
import { HOST_NAME_CANDIDATES, hostInterfaceAlias, hostInterfaceName } from "./attachment.ts";
import { deleteIfPresent, ensureBridge, ignoreRouterAdvertisements } from "./bridge-steps.ts";

/** How often the bridge may be deleted during one ADD. */
const BRIDGE_RETRIES = 3;

/** BR_MAX_PORTS of the kernel without number 0. */
const MOST_PORTS = 1023;

const PORT_UP_TIMEOUT_MS = 2500;

/** Of a pair whose configuration names none. */
const DEFAULT_MTU = 1500;

/** Both ends in place, down. */
export const createPair: Step<AddState> = {
  name: "create the veth pair",
  apply(state) {
    for (let candidate = 0, retries = 0; candidate < HOST_NAME_CANDIDATES; ) {
      const name = hostInterfaceName(state.attachment, candidate);
      const bridge = required(state.bridge, "the bridge");
      const [created] = state.node.transact(requestPair(state, name, bridge));
      if (created?.error === undefined) {
        state.portName = name;
        return;
      }
      if (created.error.errno === EEXIST) {
        const existing = findLink(state, name);
        if (existing === undefined || existing.alias === hostInterfaceAlias(state.attachment))
          throw interfaceExists(state);
        candidate++;
      } else if (created.error.errno === EXFULL) {
        throw bridgeFull(bridge, created.error);
      } else {
        if (++retries > BRIDGE_RETRIES || findLink(state, bridge.index) !== undefined) throw created.error;
        ensureBridge.apply(state);
      }
    }
    throw new CniError(
      TRY_AGAIN_LATER,
      "all names for the node's end of the veth pair are taken by other interfaces: remove one of them",
    );
  },
  undo({ node, portName }) {
    if (portName !== undefined) deleteIfPresent(node, portName);
  },
};

function findLink({ node }: AddState, which: string | number): Link | undefined {
  return linkOf(node.transact(getLink(node.batch(), which))[0]);
}

function requestPair(state: AddState, hostName: string, bridge: Link) {
  const { node, attachment, netns, mac, config, call } = state;
  const batch = createVethPair(node.batch(), {
    hostName,
    master: bridge.index,
    hostMac: randomPortMacAddress(call.syscalls),
    peerName: attachment.ifname,
    netns,
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

function interfaceExists({ attachment, call }: AddState): CniError {
  const { ifname } = attachment;
  const where = `network namespace ${call.request.netns}`;
  return new CniError(
    INTERFACE_EXISTS,
    `interface ${ifname} already exists in ${where}: DEL it first or choose another name`,
  );
}

/** Sets the port's flags before it forwards anything, then names the attachment in its alias and brings it up. */
export const configurePort: Step<AddState> = {
  name: "configure the port",
  apply(state) {
    const { node, config, attachment } = state;
    const name = required(state.portName, "the veth pair");
    if (config.hairpin || config.isolated) {
      const { index } = requireLink(node, name);
      node.run(setBridgePort(node.batch(), index, config));
    }
    ignoreRouterAdvertisements(state, name);
    node.run(setLinkUp(node.batch(), name, hostInterfaceAlias(attachment)));
  },
};

/** Keeps the container's interface from sending anything of its own. */
export const keepQuiet: Step<AddState> = {
  name: "keep the container's interface quiet",
  apply({ call, netns, attachment }) {
    const path = `/proc/sys/net/ipv6/conf/${attachment.ifname}/disable_ipv6`;
    try {
      call.syscalls.readFile(OWN_NETNS, "/proc/sys/net/ipv6/conf/all/disable_ipv6");
    } catch {
      return;
    }
    call.syscalls.writeFile(netns, path, "1");
  },
};

export const bringContainerUp: Step<AddState> = {
  name: "bring the container's interface up",
  apply({ container, attachment }) {
    container.run(setLinkUp(container.batch(), attachment.ifname));
  },
};

/** Reads bridge and port as they are now: the bridge's MAC and MTU may have changed with its first ports. */
export const readBack: Step<AddState> = {
  name: "read back bridge and port",
  apply(state) {
    const { node, portName } = state;
    const before = required(state.bridge, "the bridge");
    const batch = getLink(node.batch(), required(portName, "the veth pair"));
    const [portAnswer, bridgeAnswer] = node.run(getLink(batch, before.index));
    state.port = required(linkOf(portAnswer), "the veth pair");
    state.bridge = required(linkOf(bridgeAnswer), "the bridge");
    if (state.bridge.mac !== before.mac && isPortMacAddress(state.bridge.mac))
      state.bridge = keepMac(state, before, state.bridge);
  },
};

/** A bridge without other ports took the port's address, and would change it again as such ports come and go. */
function keepMac({ node }: AddState, before: Link, now: Link): Link {
  const had = parseMacAddress(before.mac);
  // One that lost its last port has none.
  const mac = had?.some((octet) => octet !== 0) ? had : parseMacAddress(now.mac);
  if (mac !== undefined) node.run(setLinkMac(node.batch(), before.index, mac));
  return requireLink(node, before.index);
}

/** A runtime may send through the interface as soon as ADD returns. */
export const awaitPortUp: Step<AddState> = {
  name: "wait until the port forwards",
  apply(state) {
    const port = required(state.port, "the veth pair");
    if (port.operState === IF_OPER_UP) return;
    const { syscalls } = state.call;
    const deadline = syscalls.monotonicMs() + PORT_UP_TIMEOUT_MS;
    const events = new NetlinkSocket(syscalls, -1, RTMGRP_LINK);
    try {
      while (currentState(state, port) !== IF_OPER_UP) {
        const rest = deadline - syscalls.monotonicMs();
        if (rest <= 0) throw portNotUp(port.name);
        syscalls.poll([events.fd], Math.ceil(rest));
        events.dropEvents();
      }
    } finally {
      events.close();
    }
  },
};

function currentState(state: AddState, port: Link): number {
  return requireLink(state.node, port.index).operState;
}

function portNotUp(name: string): CniError {
  return new CniError(
    PORT_NOT_UP,
    `bridge port ${name} did not come up within ${PORT_UP_TIMEOUT_MS / 1000} s: see the node's kernel log`,
  );
}
