/** CHECK: is the attachment still what ADD made? */

import { CHECK_FAILED, CniError } from "../cni/cni-error.ts";
import type { ConfigObject } from "../cni/config-object.ts";
import { runDelegate } from "../cni/delegate.ts";
import { formatMacAddress, parseMacAddress } from "../cni/mac-address.ts";
import { openNetns } from "../cni/netns.ts";
import type { Call } from "../cni/plugin.ts";
import { DEFAULT_DATA_DIR, readOriginals, stateFile } from "../cni/tuning-state.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { dumpPortVlans, type PortVlan, readPortVlans } from "../netlink/bridge-vlan.ts";
import { findLink, type Link, readLink } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { IFF_PROMISC } from "../netlink/rtnetlink.ts";
import { type Attachment, HOST_NAME_CANDIDATES, hostInterfaceAlias, hostInterfaceName } from "./attachment.ts";
import { findBridge } from "./bridge-link.ts";
import { addressFault, gatewayFault } from "./check-addresses.ts";
import { type BridgeConfig, gatewayName, readBridgeConfig } from "./config.ts";
import { openNetfilter } from "./netfilter.ts";
import { advertisementFault } from "./router-advertisements.ts";
import { spoofCheckFault } from "./spoof-check.ts";
import { accessVlan, isolatesNothing, type VlanConfig } from "./vlan-config.ts";

export function check(call: Call): undefined {
  const { syscalls, request, warn } = call;
  const { fd, socket } = openNetns(syscalls, request);
  const config = readBridgeConfig(request.config, request.args, warn);
  const expected = interfaceOfPreviousResult(request.config, request.ifname, request.netns);
  if (config.addressing !== undefined) runDelegate({ syscalls, request, type: config.addressing.ipam }, "CHECK");
  const node = new NetlinkSocket(syscalls);

  const bridge = findBridge(node, config.bridge);
  if (bridge === undefined) throw failed(`bridge ${config.bridge} not found`);
  const inside = findLink(socket, request.ifname);
  if (inside === undefined) throw failed(`interface ${request.ifname} not found in ${request.netns}`);
  checkContainerInterface(inside, expected, config);
  failIf(containerMtuFault(syscalls, request, inside, expected, config));
  const own = findPort(node, request);
  const port = own ?? findLink(node, inside.peer);
  if (port === undefined) throw failed(`the node's end of ${request.ifname} not found`);
  checkPort(port, inside, bridge, config);
  failIf(portMtuFault(port, request.config, config));
  const { vlans, spoofCheck, allowedMacs: allowed, acceptRa, addressing } = config;
  if (vlans !== undefined) {
    checkFiltering(bridge, vlans, warn);
    failIf(vlanFault(node, { port, bridge, vlans, own: own !== undefined }));
  }
  if (spoofCheck) {
    const checked = { port: port.name, mac: inside.mac, allowed };
    failIf(spoofCheckFault(openNetfilter(syscalls), request, checked));
  }
  if (!acceptRa) failIf(advertisementFault(syscalls, fd, inside.name));
  if (addressing !== undefined) failIf(addressFault(call, socket, inside.index, addressing));
  if (addressing?.gateway) failIf(gatewayFault(call, node, gatewayName(config)));
}

function checkFiltering(bridge: Link, vlans: VlanConfig, warn: Call["warn"]): void {
  if (bridge.bridgeVlans?.filtering) return;
  if (vlans.requireFiltering || vlans.enableFiltering) throw failed(isolatesNothing(bridge.name));
  warn(isolatesNothing(bridge.name));
}

function checkContainerInterface(link: Link, expected: ConfigObject, { containerDown }: BridgeConfig): void {
  if (link.kind !== "veth") throw failed(`interface ${link.name} is not a veth`);
  const mac = parseMacAddress(expected.string("mac") ?? "");
  if (mac !== undefined && formatMacAddress(mac) !== link.mac) {
    throw failed(`interface ${link.name} has MAC ${link.mac}, ADD gave it ${formatMacAddress(mac)}`);
  }
  if (!containerDown && !link.up) throw failed(`interface ${link.name} is down`);
}

function checkPort(port: Link, inside: Link, bridge: Link, config: BridgeConfig): void {
  if (port.peer !== inside.index) throw failed(`${port.name} is not the other end of ${inside.name}`);
  if (port.master !== bridge.index) throw failed(`${port.name} is not a port of bridge ${bridge.name}`);
  if (!port.up) throw failed(`${port.name} is down`);
  if (config.hairpin !== port.bridgePort?.hairpin) throw failed(`${port.name}: hairpin mode is not ${config.hairpin}`);
  if (config.isolated !== port.bridgePort.isolated) throw failed(`${port.name}: isolation is not ${config.isolated}`);
  if (config.promiscuous && (bridge.flags & IFF_PROMISC) === 0)
    throw failed(`bridge ${bridge.name} is not promiscuous`);
}

function findPort(node: NetlinkSocket, attachment: Attachment): Link | undefined {
  const alias = hostInterfaceAlias(attachment);
  for (let candidate = 0; candidate < HOST_NAME_CANDIDATES; candidate++) {
    const link = findLink(node, hostInterfaceName(attachment, candidate));
    if (link?.alias === alias) return link;
  }
  return undefined;
}

function interfaceOfPreviousResult(config: ConfigObject, ifname: string, netns: string): ConfigObject {
  if (config.raw("prevResult") === undefined) throw config.fault("prevResult", "the result of the ADD");
  const interfaces = config.object("prevResult").objects("interfaces");
  const found = interfaces.find((one) => one.string("name") === ifname && one.string("sandbox") === netns);
  if (found !== undefined) return found;
  throw failed(`prevResult has no interface ${ifname} in ${netns}`);
}

/**
 * Compares with the result; if the result has no MTU, with the configuration. Undefined when they agree. The plugin `tuning`
 * may have changed the MTU since the ADD.
 */
function containerMtuFault(
  syscalls: Syscalls,
  attachment: Attachment,
  { name, mtu }: Link,
  expected: ConfigObject,
  config: BridgeConfig,
): string | undefined {
  const given = expected.wholeNumber("mtu");
  const wanted = given || configuredMtu(config);
  if (!wanted || mtu === wanted) return undefined;
  const before = readOriginals(syscalls, stateFile(DEFAULT_DATA_DIR, attachment))?.mtu;
  // Tuning changed the MTU, and its result has no MTU or the original one.
  if (before !== undefined && (!given || given === before)) return undefined;
  return `interface ${name} has MTU ${mtu}, not ${wanted}`;
}

/** Compares with the configuration; if that has no MTU, with the result (in version 1.1.0). */
function portMtuFault({ name, mtu }: Link, request: ConfigObject, config: BridgeConfig): string | undefined {
  const interfaces = request.object("prevResult").objects("interfaces");
  const atAdd = interfaces.find((one) => one.string("name") === name && !one.string("sandbox"));
  const wanted = configuredMtu(config) ?? atAdd?.wholeNumber("mtu");
  return wanted && mtu !== wanted ? `${name} has MTU ${mtu}, not ${wanted}` : undefined;
}

function configuredMtu({ mtu }: BridgeConfig): number | undefined {
  return typeof mtu === "number" ? mtu : undefined;
}

/** A predecessor of the reference left it on every port. */
const LEFT_BY_PREDECESSOR = 1;

interface CheckedVlans {
  readonly port: Link;
  readonly bridge: Link;
  readonly vlans: VlanConfig;
  /** The port is one that this plugin made. */
  readonly own: boolean;
}

/** Why the port's VLANs are not as ADD made them; undefined when they are. */
function vlanFault(node: NetlinkSocket, { port, bridge, vlans, own }: CheckedVlans): string | undefined {
  const { error, messages } = node.dump(dumpPortVlans);
  if (error !== undefined) throw error;
  const message = messages.find((one) => readLink(one).index === port.index);
  const present = message === undefined ? [] : readPortVlans(message);
  const presentById = byId(present);
  const wantedById = byId(wantedVlans(vlans, own ? (bridge.bridgeVlans?.defaultVlan ?? 0) : 0));
  for (const wanted of wantedById.values()) {
    const found = presentById.get(wanted.id);
    if (found === undefined) return `${port.name} ${wanted.pvid ? "is not in" : "does not carry"} VLAN ${wanted.id}`;
    if (found.pvid !== wanted.pvid || found.untagged !== wanted.untagged) {
      return `${port.name} has VLAN ${wanted.id} as ${describe(found)}, not as ${describe(wanted)}`;
    }
  }
  const left = [
    ...(vlans.preserveDefault || !own ? [bridge.bridgeVlans?.defaultVlan] : []),
    ...(own ? [] : [LEFT_BY_PREDECESSOR]),
  ];
  const added = present.find(({ id }) => !wantedById.has(id) && !left.includes(id));
  return added === undefined ? undefined : `${port.name} carries VLAN ${added.id}, which ADD did not give it`;
}

/** As the steps of ADD leave them: what comes later wins for a VLAN that is both. */
function wantedVlans(vlans: VlanConfig, defaultVlan: number): readonly PortVlan[] {
  const { accessNamed, trunk } = vlans;
  const untagged = { id: accessVlan(vlans, defaultVlan), pvid: true, untagged: true };
  const tagged = trunk.map((id) => ({ id, pvid: false, untagged: false }));
  return accessNamed ? [untagged, ...tagged] : [...tagged, untagged];
}

/** The last one of each number. */
function byId(vlans: readonly PortVlan[]): ReadonlyMap<number, PortVlan> {
  return new Map(vlans.map((one) => [one.id, one]));
}

function describe({ pvid, untagged }: PortVlan): string {
  return `${pvid ? "that of untagged frames" : "one of tagged frames"}, sent ${untagged ? "untagged" : "with its tag"}`;
}

function failIf(fault: string | undefined): void {
  if (fault !== undefined) throw failed(fault);
}

function failed(what: string): CniError {
  return new CniError(CHECK_FAILED, `the attachment is not as ADD left it: ${what}`);
}
