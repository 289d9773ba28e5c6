import type { BridgeConfig } from "../../cni-plugins/bridge/config.ts";
import { rangesOf } from "../../cni-plugins/netlink/bridge-vlan.ts";
import { readNetworkConfig } from "./network-config.ts";
import { pluginOf, readPlugin } from "./plugin-checks.ts";

/**
 * The bridge and VLAN that a network leads to, as text: `bridge br1` or `bridge br1 VLAN 10`. Undefined where it is none of
 * ours, refused by the plugin, or a trunk, which is many networks.
 */
export function segmentOf({ bridge, vlans }: BridgeConfig): string | undefined {
  if (vlans === undefined) return `bridge ${bridge}`;
  return vlans.trunk.length === 0 ? `bridge ${bridge} VLAN ${vlans.access}` : undefined;
}

export function segmentOfConfig(config: string, name: string): string | undefined {
  const bridge = bridgeOfConfig(config, name);
  return bridge && segmentOf(bridge);
}

/** What the first bridge plugin of a configuration is told. Undefined where there is none of ours, or where it refuses. */
export function bridgeOfConfig(config: string, name: string): BridgeConfig | undefined {
  const network = readNetworkConfig(config, name);
  for (const call of network.form === "plugins" ? network.calls : []) {
    const bridge = pluginOf(call) === "bridge" ? readPlugin(call, "bridge").bridge : undefined;
    if (bridge !== undefined) return bridge;
  }
  return undefined;
}

/** As a network writes them: `100-110,200`. At most so many ranges, and then `...`. */
export function vlanRanges(vlans: readonly number[], most: number): string {
  const texts = rangeTexts(vlans);
  return [...texts.slice(0, most), ...(texts.length > most ? ["..."] : [])].join(",");
}

const MAX_RANGES = 6;

/** `VLAN 100`, `VLANs 100, 200-210`; empty for none. */
export function describeVlans(vlans: readonly number[]): string {
  if (vlans.length === 0) return "";
  const texts = rangeTexts(vlans);
  const more = texts.length > MAX_RANGES ? " and more" : "";
  return `VLAN${vlans.length > 1 ? "s" : ""} ${texts.slice(0, MAX_RANGES).join(", ")}${more}`;
}

function rangeTexts(vlans: readonly number[]): string[] {
  return rangesOf(vlans).map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
}
