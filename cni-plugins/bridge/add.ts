/** ADD: a veth pair between the container and the bridge. */

import { encodeAddresses } from "../cni/address-result.ts";
import { CniError, TRY_AGAIN_LATER } from "../cni/cni-error.ts";
import { DelegateRun } from "../cni/delegate.ts";
import { formatMacAddress, randomMacAddress } from "../cni/mac-address.ts";
import { type Netns, openNetns } from "../cni/netns.ts";
import type { Call } from "../cni/plugin.ts";
import { type Result, requireInterfacesInResult } from "../cni/result.ts";
import { applySteps, type Step } from "../cni/steps.ts";
import { ENODEV } from "../netlink/errno.ts";
import type { Link } from "../netlink/link.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { type AddState, required } from "./add-state.ts";
import type { Addresses } from "./addresses.ts";
import { ensureBridge, makeBridgePromiscuous } from "./bridge-steps.ts";
import { type BridgeConfig, readBridgeConfig } from "./config.ts";
import { addressSteps, askIpam } from "./container-steps.ts";
import { gatewaySteps } from "./gateway-steps.ts";
import { masqueradeAddresses } from "./masquerade-steps.ts";
import { lazyNetfilter } from "./netfilter.ts";
import { awaitPortUp, bringContainerUp, configurePort, createPair, keepQuiet, readBack } from "./port-steps.ts";
import { checkSpoofing } from "./spoof-check-steps.ts";
import { makeVlanGateway, requireFiltering, setPortVlans } from "./vlan-steps.ts";

type Steps = readonly Step<AddState>[];

/** The steps a configuration needs, in order. */
export function planAdd(config: BridgeConfig): Steps {
  const { vlans, addressing } = config;
  const when = (wanted: boolean | undefined, steps: () => Steps): Steps => (wanted ? steps() : []);
  return [
    ensureBridge,
    ...when(config.promiscuous, () => [makeBridgePromiscuous]),
    ...when(vlans !== undefined, () => [requireFiltering]),
    createPair,
    ...when(addressing !== undefined, () => [askIpam]),
    ...when(vlans !== undefined, () => [setPortVlans]),
    ...when(config.spoofCheck, () => [checkSpoofing]),
    configurePort,
    ...when(config.quiet, () => [keepQuiet]),
    ...when(addressing !== undefined, () => addressSteps),
    ...when(addressing?.gateway && vlans?.accessNamed, () => [makeVlanGateway]),
    ...when(addressing?.gateway, () => gatewaySteps),
    ...when(addressing?.masquerade, () => [masqueradeAddresses]),
    ...when(addressing === undefined && !config.containerDown, () => [bringContainerUp]),
    readBack,
    ...when(!config.containerDown, () => [awaitPortUp]),
  ];
}

export function add(call: Call): Result {
  const { syscalls, request, warn } = call;
  // First, so that the plugin's own namespace is refused whatever else is wrong.
  const netns = openNetns(syscalls, request);
  const config = readBridgeConfig(request.config, request.args, warn);
  if (config.addressing === undefined) requireInterfacesInResult(request.version);
  const ipam = startIpam(call, config);
  try {
    return connect(call, config, netns, ipam);
  } catch (error) {
    ipam?.abandon();
    throw error;
  }
}

/** An IPAM plugin takes a few milliseconds to load. A step gives it its input. */
function startIpam({ syscalls, request }: Call, { addressing }: BridgeConfig): DelegateRun | undefined {
  if (addressing === undefined) return undefined;
  return new DelegateRun({ syscalls, request, type: addressing.ipam }, "ADD");
}

function connect(call: Call, config: BridgeConfig, netns: Netns, ipam: DelegateRun | undefined): Result {
  const { syscalls, request, warn } = call;
  const { network, containerId, ifname } = request;
  const state: AddState = {
    call,
    config,
    attachment: { network, containerId, ifname },
    mac: config.mac ?? randomMacAddress(syscalls),
    netns: netns.fd,
    node: new NetlinkSocket(syscalls),
    container: netns.socket,
    bridge: undefined,
    bridgeMtu: undefined,
    bridgeCreated: false,
    promiscuousSet: false,
    portName: undefined,
    port: undefined,
    ipam,
    addresses: undefined,
    containerIndex: undefined,
    vlanGateway: undefined,
    vlanGatewayCreated: false,
    gatewayChanges: [],
    netfilter: lazyNetfilter(syscalls),
    rules: {},
  };
  try {
    applySteps(planAdd(config), state, (step, error) => warn(`could not take back "${step}": ${error}`));
  } catch (error) {
    throw isDeleted(error) ? deletedMeanwhile(state, error) : error;
  }
  return resultOf(state);
}

/** Each link that a step asks for was there in an earlier step. */
function isDeleted(error: unknown): error is Error {
  return error instanceof Error && errnoOf(error) === ENODEV;
}

function deletedMeanwhile({ attachment, config }: AddState, { message }: Error): CniError {
  const { ifname, containerId } = attachment;
  return new CniError(
    TRY_AGAIN_LATER,
    `bridge ${config.bridge} or interface ${ifname} of container ${containerId} was deleted during the ADD: try again, unless the container is being removed`,
    message,
  );
}

function resultOf(state: AddState): Result {
  const { call, config, attachment, mac, addresses, vlanGateway } = state;
  const master = required(state.bridge, "the bridge");
  const { name, mac: portMac, mtu } = required(state.port, "the veth pair");
  warnAboutMtu(state, master);
  return {
    interfaces: [
      { name: master.name, mac: master.mac, mtu: master.mtu },
      { name, mac: portMac, mtu },
      { name: attachment.ifname, mac: formatMacAddress(mac), mtu, sandbox: call.request.netns },
      ...(vlanGateway === undefined ? [] : [{ name: vlanGateway.name, mac: vlanGateway.mac, mtu: vlanGateway.mtu }]),
    ],
    ...(addresses === undefined ? {} : { addresses: encoderOf(addresses) }),
    dns: isEmpty(config.dns) ? (addresses?.dns ?? {}) : config.dns,
  };
}

function encoderOf({ ips, routes }: Addresses): NonNullable<Result["addresses"]> {
  return (version) => encodeAddresses(version, ips, routes);
}

function warnAboutMtu({ call, config, bridgeMtu }: AddState, bridge: Link): void {
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
