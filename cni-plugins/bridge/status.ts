/** STATUS: would an ADD of this configuration find what it needs on the node? */

import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { CniError, PLUGIN_NOT_AVAILABLE } from "../protocol/cni-error.ts";
import { runDelegate } from "../protocol/delegate.ts";
import type { Call } from "../protocol/plugin.ts";
import { findBridge } from "./bridge-steps.ts";
import { type BridgeConfig, readBridgeConfig } from "./config.ts";
import { hasIptables } from "./masquerade-iptables.ts";
import { tryNftMasquerade } from "./masquerade-nftables.ts";
import { openNetfilter, withFeature } from "./netfilter.ts";
import { trySpoofCheck } from "./spoof-check.ts";
import { kernelLacksFiltering } from "./vlan-config.ts";

export function status(call: Call): undefined {
  const { host, request, warn } = call;
  const config = readBridgeConfig(request.config, request.args, warn);
  if (config.addressing !== undefined) runDelegate({ host, request, type: config.addressing.ipam }, "STATUS");
  try {
    requireFeatures(call, config);
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    throw new CniError(PLUGIN_NOT_AVAILABLE, error.message, error.details);
  }
}

function requireFeatures({ host }: Call, { bridge, vlans, spoofCheck, addressing }: BridgeConfig): void {
  if (spoofCheck) {
    withFeature("macspoofchk", "CONFIG_NF_TABLES_BRIDGE", () => trySpoofCheck(openNetfilter(host)));
  }
  if (addressing?.masquerade) {
    const iptables = addressing.masqueradeBackend === undefined && hasIptables(host);
    if (!iptables && addressing.masqueradeBackend !== "iptables") {
      withFeature("ipMasq", "CONFIG_NF_TABLES_INET and CONFIG_NFT_MASQ", () => tryNftMasquerade(openNetfilter(host)));
    } else if (!hasIptables(host)) {
      throw new CniError(PLUGIN_NOT_AVAILABLE, '"ipMasqBackend": "iptables" needs iptables on this node: install it');
    }
  }
  const found = vlans === undefined ? undefined : findBridge(new NetlinkSocket(host), bridge);
  if (found !== undefined && found.bridgeVlans?.filtering === undefined) throw kernelLacksFiltering("");
}
