/** STATUS: would an ADD of this configuration find what it needs on the node? */

import { CniError, PLUGIN_NOT_AVAILABLE } from "../cni/cni-error.ts";
import { runDelegate } from "../cni/delegate.ts";
import type { Call } from "../cni/plugin.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { probeVlanFiltering } from "../netlink/bridge-vlan.ts";
import { EOPNOTSUPP } from "../netlink/errno.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { findBridge } from "./bridge-link.ts";
import { type BridgeConfig, readBridgeConfig } from "./config.ts";
import { hasIptables } from "./masquerade-iptables.ts";
import { tryNftMasquerade } from "./masquerade-nftables.ts";
import { openNetfilter, withFeature } from "./netfilter.ts";
import { trySpoofCheck } from "./spoof-check.ts";
import { kernelLacksFiltering } from "./vlan-config.ts";

export function status(call: Call): undefined {
  const { syscalls, request, warn } = call;
  const config = readBridgeConfig(request.config, request.args, warn);
  if (config.addressing !== undefined) runDelegate({ syscalls, request, type: config.addressing.ipam }, "STATUS");
  try {
    requireFeatures(call, config);
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    throw new CniError(PLUGIN_NOT_AVAILABLE, error.message, error.details);
  }
}

function requireFeatures({ syscalls }: Call, { bridge, vlans, spoofCheck, addressing }: BridgeConfig): void {
  if (spoofCheck) {
    withFeature("macspoofchk", "CONFIG_NF_TABLES_BRIDGE", () => trySpoofCheck(openNetfilter(syscalls)));
  }
  if (addressing?.masquerade) {
    const iptables = addressing.masqueradeBackend === undefined && hasIptables(syscalls);
    if (!iptables && addressing.masqueradeBackend !== "iptables") {
      withFeature("ipMasq", "CONFIG_NF_TABLES_INET and CONFIG_NFT_MASQ", () =>
        tryNftMasquerade(openNetfilter(syscalls)),
      );
    } else if (!hasIptables(syscalls)) {
      throw new CniError(PLUGIN_NOT_AVAILABLE, '"ipMasqBackend": "iptables" needs iptables on this node: install it');
    }
  }
  if (vlans !== undefined && lacksFiltering(syscalls, bridge)) throw kernelLacksFiltering("");
}

/** False when in doubt: a failing STATUS may make the node NotReady. */
function lacksFiltering(syscalls: Syscalls, bridge: string): boolean {
  const node = new NetlinkSocket(syscalls);
  const found = findBridge(node, bridge);
  if (found !== undefined) return found.bridgeVlans?.filtering === undefined;
  if (!syscalls.exists("/sys/module/bridge") || !knowsVlanRequests(syscalls)) return false;
  const [answer] = node.transact(probeVlanFiltering(node.batch()));
  return answer?.error?.errno === EOPNOTSUPP;
}

/** Linux 5.6 or later. */
function knowsVlanRequests(syscalls: Syscalls): boolean {
  const release = syscalls.readFile(OWN_NETNS, "/proc/sys/kernel/osrelease").split(".");
  const [major = 0, minor = 0] = release.map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 6);
}
