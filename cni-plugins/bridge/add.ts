/** ADD: a veth pair between the container and the bridge. */

import { encodeAddresses } from "../cni/address-result.ts";
import { allOrNothing, type OnFailure } from "../cni/all-or-nothing.ts";
import { CniError, TRY_AGAIN_LATER } from "../cni/cni-error.ts";
import { requireName } from "../cni/delegate.ts";
import { formatMacAddress, randomMacAddress } from "../cni/mac-address.ts";
import { type Netns, openNetns } from "../cni/netns.ts";
import type { Call } from "../cni/plugin.ts";
import { type Result, type ResultInterface, requireInterfacesInResult } from "../cni/result.ts";
import { ENODEV } from "../netlink/errno.ts";
import { type Link, requireLink, setLinkUp } from "../netlink/link.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Addresses } from "./addresses.ts";
import type { Attachment } from "./attachment.ts";
import { type RuleRecord, recordRules, removeRuleRecord } from "./attachment-rules.ts";
import { type AddressingConfig, type BridgeConfig, readBridgeConfig } from "./config.ts";
import { addAddresses, askIpam } from "./container-addresses.ts";
import { addGatewayAddresses, enableForwarding, makeVlanGateway } from "./gateway.ts";
import { masqueradeAddresses } from "./masquerade.ts";
import { type LazyNetfilter, lazyNetfilter, withFeature } from "./netfilter.ts";
import { putIntoVlans } from "./port-vlans.ts";
import { switchOffAdvertisements } from "./router-advertisements.ts";
import { addSpoofCheck, removeSpoofCheck, requireChainNames } from "./spoof-check.ts";
import { awaitPortUp, configurePort, createPair, keepQuiet, type Pair, readBack } from "./veth-pair.ts";

/** One ADD, for the functions that do its parts. */
export interface Addition {
  readonly call: Call;
  readonly config: BridgeConfig;
  readonly attachment: Attachment;
  readonly netns: Netns;
  readonly node: NetlinkSocket;
  readonly netfilter: LazyNetfilter;
  readonly onFailure: OnFailure;
}

export function add(call: Call): Result {
  const { syscalls, request, warn } = call;
  // First, so that the plugin's own namespace is refused whatever else is wrong.
  const netns = openNetns(syscalls, request);
  const config = readBridgeConfig(request.config, request.args, warn);
  if (config.addressing === undefined) requireInterfacesInResult(request.version);
  else requireName(config.addressing.ipam);
  const { network, containerId, ifname } = request;
  const attachment = { network, containerId, ifname };
  const node = new NetlinkSocket(syscalls);
  const netfilter = lazyNetfilter(syscalls);
  try {
    return allOrNothing(warn, (onFailure) => attach({ call, config, attachment, netns, node, netfilter, onFailure }));
  } catch (error) {
    throw isDeleted(error) ? deletedMeanwhile(attachment, config, error) : error;
  }
}

function attach(addition: Addition): Result {
  const { call, config, attachment, netns, node } = addition;
  const { vlans, addressing } = config;
  const mac = config.mac ?? randomMacAddress(call.syscalls);
  const pair = createPair(addition, mac);
  if (vlans !== undefined) putIntoVlans(node, pair.bridge, requireLink(node, pair.portName), vlans);
  const rules = config.spoofCheck ? checkSpoofing(addition, pair, mac) : {};
  configurePort(addition, pair);
  if (config.quiet) keepQuiet(addition);
  if (!config.acceptRa) switchOffAdvertisements(call.syscalls, netns.fd, attachment.ifname);
  const routed = addressing === undefined ? undefined : addRouting(addition, addressing, pair, rules);
  if (addressing === undefined && !config.containerDown) {
    netns.socket.run(setLinkUp(netns.socket.batch(), attachment.ifname));
  }
  const { port, bridge } = readBack(node, pair);
  if (!config.containerDown) awaitPortUp(addition, port);
  warnAboutMtu(addition, pair, bridge);
  return {
    interfaces: [
      ofNode(bridge),
      ofNode(port),
      { name: attachment.ifname, mac: formatMacAddress(mac), mtu: port.mtu, sandbox: call.request.netns },
      ...(routed?.vlanGateway === undefined ? [] : [ofNode(routed.vlanGateway)]),
    ],
    ...(routed === undefined ? {} : { addresses: encoderOf(routed.addresses) }),
    dns: isEmpty(config.dns) ? (routed?.addresses.dns ?? {}) : config.dns,
  };
}

/** Only frames with the container's MAC, or an allowed one, pass. */
function checkSpoofing(addition: Addition, { portName }: Pair, mac: Uint8Array): RuleRecord {
  const { call, config, attachment, netfilter, onFailure } = addition;
  requireChainNames(attachment);
  const spoofRule = withFeature("macspoofchk", "CONFIG_NF_TABLES_BRIDGE", () =>
    addSpoofCheck(netfilter(), attachment, { port: portName, mac, allowed: config.allowedMacs }),
  );
  onFailure("check the container's MAC", () => {
    removeSpoofCheck(netfilter(), attachment, spoofRule);
    removeRuleRecord(call.syscalls, portName);
  });
  recordRules(call, { portName, attachment, rules: { spoofRule } });
  return { spoofRule };
}

interface Routing {
  readonly addresses: Addresses;
  /** The gateway's interface in the attachment's VLAN. */
  readonly vlanGateway: Link | undefined;
}

/** What the container needs for IP: addresses, a gateway, masquerading. */
function addRouting(addition: Addition, config: AddressingConfig, pair: Pair, rules: RuleRecord): Routing {
  const { vlans } = addition.config;
  const addresses = askIpam(addition, config);
  addAddresses(addition, config, addresses);
  const vlanGateway = config.gateway && vlans?.accessNamed ? makeVlanGateway(addition, pair.bridge, vlans) : undefined;
  if (config.gateway) {
    addGatewayAddresses(addition, config, vlanGateway ?? pair.bridge, addresses.gateways);
    enableForwarding(addition.call.syscalls, addresses.gateways);
  }
  if (config.masquerade) masqueradeAddresses(addition, config, pair, rules, addresses);
  return { addresses, vlanGateway };
}

/** Each link that an ADD asks for was there before. */
function isDeleted(error: unknown): error is Error {
  return error instanceof Error && errnoOf(error) === ENODEV;
}

function deletedMeanwhile({ ifname, containerId }: Attachment, { bridge }: BridgeConfig, { message }: Error): CniError {
  return new CniError(
    TRY_AGAIN_LATER,
    `bridge ${bridge} or interface ${ifname} of container ${containerId} was deleted during the ADD: try again, unless the container is being removed`,
    message,
  );
}

function ofNode({ name, mac, mtu }: Link): ResultInterface {
  return { name, mac, mtu };
}

function encoderOf({ ips, routes }: Addresses): NonNullable<Result["addresses"]> {
  return (version) => encodeAddresses(version, ips, routes);
}

function warnAboutMtu({ call, config }: Addition, { bridgeMtu }: Pair, bridge: Link): void {
  if (typeof config.mtu === "number" && bridge.mtu < config.mtu) {
    call.warn(
      `bridge ${bridge.name} has MTU ${bridge.mtu}, less than "mtu": ${config.mtu}: larger frames will be dropped`,
    );
  }
  if (typeof config.mtu === "number" && bridgeMtu !== undefined && bridge.mtu < bridgeMtu) {
    call.warn(
      `"mtu": ${config.mtu} lowered the MTU of bridge ${bridge.name} from ${bridgeMtu} for all its ports: set the MTU of the bridge by hand`,
    );
  }
}

function isEmpty(dns: object): boolean {
  return Object.keys(dns).length === 0;
}
