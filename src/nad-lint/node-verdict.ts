import type { BridgeConfig } from "../../cni-plugins/bridge/config.ts";
import { type BridgeOnNode, checkNodes } from "./node-checks.ts";

/** What happens to a VM of a network on a node that publishes the bridge. Warning: it starts, and not all is as the network says. */
export function verdictOnNode(config: BridgeConfig, on: BridgeOnNode): "Works" | "Warning" | "Fails" {
  const said = checkNodes(config, [on], "");
  if (said.length === 0) return "Works";
  if (said.some(({ code }) => code === "vlan-impossible")) return "Fails";
  const refuses = config.vlans?.requireFiltering === true && !config.vlans.enableFiltering;
  return refuses && said.some(({ code }) => code === "vlan-unfiltered") ? "Fails" : "Warning";
}
