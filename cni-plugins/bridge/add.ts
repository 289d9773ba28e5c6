/** ADD: a veth pair between the container and the bridge. */

import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { formatMacAddress, MAC_BYTES } from "../protocol/mac-address.ts";
import type { Call } from "../protocol/plugin.ts";
import { type Result, requireInterfacesInResult } from "../protocol/result.ts";
import { applySteps, type Step } from "../protocol/steps.ts";
import { type AddState, made } from "./add-state.ts";
import { ensureBridge, makeBridgePromiscuous } from "./bridge-steps.ts";
import { type BridgeConfig, readBridgeConfig } from "./config.ts";
import { openNetns } from "./netns.ts";
import { awaitPortUp, bringContainerUp, configurePort, createPair, readBack } from "./port-steps.ts";

/** The steps a configuration needs, in order. */
export function planAdd(config: BridgeConfig): readonly Step<AddState>[] {
  return [
    ensureBridge,
    ...(config.promiscuous ? [makeBridgePromiscuous] : []),
    createPair,
    configurePort,
    ...(config.containerDown ? [readBack] : [bringContainerUp, readBack, awaitPortUp]),
  ];
}

export function add(call: Call): Result {
  const { host, request, warn } = call;
  requireInterfacesInResult(request.version);
  const config = readBridgeConfig(request.config, request.args, warn);
  const { network, containerId, ifname } = request;
  const netns = openNetns(host, request);
  const state: AddState = {
    call,
    config,
    attachment: { network, containerId, ifname },
    mac: config.mac ?? randomMac(call),
    netns: netns.fd,
    node: new NetlinkSocket(host),
    container: netns.socket,
    bridge: undefined,
    bridgeCreated: false,
    promiscuousSet: false,
    portName: undefined,
    port: undefined,
  };
  applySteps(planAdd(config), state, (step, error) => warn(`could not take back "${step}": ${error}`));
  return resultOf(state);
}

function resultOf({ call, config, attachment, mac, bridge, port }: AddState): Result {
  const master = made(bridge, "the bridge");
  const { name, mac: portMac, mtu } = made(port, "the veth pair");
  if (config.mtu !== undefined && master.mtu < config.mtu) {
    call.warn(
      `bridge ${master.name} has MTU ${master.mtu}, less than "mtu": ${config.mtu}: larger frames will be dropped`,
    );
  }
  return {
    interfaces: [
      { name: master.name, mac: master.mac, mtu: master.mtu },
      { name, mac: portMac, mtu },
      { name: attachment.ifname, mac: formatMacAddress(mac), mtu, sandbox: call.request.netns },
    ],
    dns: config.dns,
  };
}

/** Locally administered, unicast. */
function randomMac({ host }: Call): Uint8Array {
  const mac = new Uint8Array(MAC_BYTES);
  host.random(mac);
  mac[0] = ((mac[0] ?? 0) & 0xfc) | 0x02;
  return mac;
}
