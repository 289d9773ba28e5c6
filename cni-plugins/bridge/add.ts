/** ADD: a veth pair between the container and the bridge. */

import type { Host } from "../host/host.ts";
import { ENODEV } from "../netlink/errno.ts";
import type { Link } from "../netlink/link.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { CniError, TRY_AGAIN_LATER } from "../protocol/cni-error.ts";
import type { PreparedDelegate } from "../protocol/delegate.ts";
import { formatMacAddress, MAC_BYTES } from "../protocol/mac-address.ts";
import type { Call } from "../protocol/plugin.ts";
import { type Result, requireInterfacesInResult } from "../protocol/result.ts";
import { applySteps, type Step } from "../protocol/steps.ts";
import { type AddState, made } from "./add-state.ts";
import type { Addresses } from "./addresses.ts";
import { ensureBridge, makeBridgePromiscuous } from "./bridge-steps.ts";
import { type BridgeConfig, readBridgeConfig } from "./config.ts";
import { type Netns, openNetns } from "./netns.ts";
import { load } from "./parts.ts";
import { awaitPortUp, bringContainerUp, configurePort, createPair, keepQuiet, readBack } from "./port-steps.ts";

type Steps = readonly Step<AddState>[];

/** The steps a configuration needs, in order. */
export function planAdd(host: Host, config: BridgeConfig): Steps {
  const { vlans, addressing } = config;
  const when = (wanted: boolean | undefined, steps: () => Steps): Steps => (wanted ? steps() : []);
  return [
    ...when(config.spoofCheck, () => [load(host, "spoof-check-steps").beginSpoofCheck]),
    ensureBridge,
    ...when(config.promiscuous, () => [makeBridgePromiscuous]),
    ...when(vlans !== undefined, () => [load(host, "vlan-steps").requireFiltering]),
    createPair,
    ...when(addressing !== undefined, () => [load(host, "container-steps").askIpam]),
    ...when(vlans !== undefined, () => [load(host, "vlan-steps").setPortVlans]),
    ...when(config.spoofCheck, () => [load(host, "spoof-check-steps").checkSpoofing]),
    configurePort,
    ...when(config.quiet, () => [keepQuiet]),
    ...when(addressing !== undefined, () => load(host, "container-steps").addressSteps),
    ...when(addressing?.gateway && vlans?.accessNamed, () => [load(host, "vlan-steps").makeVlanGateway]),
    ...when(addressing?.gateway, () => load(host, "gateway-steps").gatewaySteps),
    ...when(addressing?.masquerade, () => [load(host, "masquerade-steps").masqueradeAddresses]),
    ...when(addressing === undefined && !config.containerDown, () => [bringContainerUp]),
    readBack,
    ...when(!config.containerDown, () => [awaitPortUp]),
    ...when(addressing !== undefined, () => [load(host, "container-steps").endIpam]),
  ];
}

export function add(call: Call): Result {
  const { host, request, warn } = call;
  // First of all: a namespace that is the plugin's own is refused whatever else is wrong.
  const netns = openNetns(host, request);
  const config = readBridgeConfig(request.config, request.args, warn);
  if (config.addressing === undefined) requireInterfacesInResult(request.version);
  const ipam = prepareIpam(call, config);
  try {
    return connect(call, config, netns, ipam);
  } catch (error) {
    ipam?.abandon();
    throw error;
  }
}

/** It takes a few milliseconds from here until an IPAM plugin reads its input, which a step gives it. */
function prepareIpam({ host, request }: Call, { addressing }: BridgeConfig): PreparedDelegate | undefined {
  if (addressing === undefined) return undefined;
  const { PreparedDelegate } = load(host, "delegate");
  return new PreparedDelegate({ host, request, type: addressing.ipam }, "ADD");
}

function connect(call: Call, config: BridgeConfig, netns: Netns, preparedIpam: PreparedDelegate | undefined): Result {
  const { host, request, warn } = call;
  const { network, containerId, ifname } = request;
  const state: AddState = {
    call,
    config,
    attachment: { network, containerId, ifname },
    mac: config.mac ?? randomMac(call),
    netns: netns.fd,
    node: new NetlinkSocket(host),
    container: netns.socket,
    bridge: undefined,
    bridgeMtu: undefined,
    bridgeCreated: false,
    promiscuousSet: false,
    portName: undefined,
    port: undefined,
    preparedIpam,
    ipam: undefined,
    ipamAnswer: "",
    addresses: undefined,
    containerIndex: undefined,
    vlanGateway: undefined,
    vlanGatewayCreated: false,
    gatewayChanges: [],
    netfilter: undefined,
    spoofCheck: undefined,
    record: {},
  };
  try {
    applySteps(planAdd(host, config), state, (step, error) => warn(`could not take back "${step}": ${error}`));
  } catch (error) {
    throw isDeleted(error) ? deletedMeanwhile(state, error) : error;
  }
  return resultOf(state);
}

/** Every link that a step asks for was there a step before. */
function isDeleted(error: unknown): error is Error {
  return error instanceof Error && errnoOf(error) === ENODEV;
}

function deletedMeanwhile({ attachment, config }: AddState, { message }: Error): CniError {
  const { ifname, containerId } = attachment;
  return new CniError(
    TRY_AGAIN_LATER,
    `bridge ${config.bridge} or interface ${ifname} of container ${containerId} was deleted while they were being connected: try again unless the container is being removed`,
    message,
  );
}

function resultOf(state: AddState): Result {
  const { call, config, attachment, mac, addresses, vlanGateway } = state;
  const master = made(state.bridge, "the bridge");
  const { name, mac: portMac, mtu } = made(state.port, "the veth pair");
  warnAboutMtu(state, master);
  return {
    interfaces: [
      { name: master.name, mac: master.mac, mtu: master.mtu },
      { name, mac: portMac, mtu },
      { name: attachment.ifname, mac: formatMacAddress(mac), mtu, sandbox: call.request.netns },
      ...(vlanGateway === undefined ? [] : [{ name: vlanGateway.name, mac: vlanGateway.mac, mtu: vlanGateway.mtu }]),
    ],
    ...(addresses === undefined ? {} : { addresses: encoderOf(call.host, addresses) }),
    dns: isEmpty(config.dns) ? (addresses?.dns ?? {}) : config.dns,
  };
}

function encoderOf(host: Host, { ips, routes }: Addresses): NonNullable<Result["addresses"]> {
  return (version) => load(host, "container-steps").encodeAddresses(version, ips, routes);
}

function warnAboutMtu({ call, config, bridgeMtu }: AddState, bridge: Link): void {
  if (typeof config.mtu === "number" && bridge.mtu < config.mtu) {
    call.warn(
      `bridge ${bridge.name} has MTU ${bridge.mtu}, less than "mtu": ${config.mtu}: larger frames will be dropped`,
    );
  }
  if (bridgeMtu !== undefined && bridge.mtu < bridgeMtu) {
    call.warn(
      `"mtu": ${config.mtu} made bridge ${bridge.name} smaller for all of its ports (${bridgeMtu} before): set the bridge's MTU by hand`,
    );
  }
}

function isEmpty(dns: object): boolean {
  return Object.keys(dns).length === 0;
}

/** Locally administered, unicast. */
function randomMac({ host }: Call): Uint8Array {
  const mac = new Uint8Array(MAC_BYTES);
  host.random(mac);
  mac[0] = ((mac[0] ?? 0) & 0xfc) | 0x02;
  return mac;
}
