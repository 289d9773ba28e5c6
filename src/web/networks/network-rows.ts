import { vlanText } from "../../api/network-text.ts";
import type { NetworkView } from "../../mac-pool/inspection/rest/views.ts";

/** Networks as rows of a spreadsheet. */

export const NETWORK_COLUMNS = [
  ...["bridge", "namespace", "network", "vlan", "mtu", "spoof check", "resource", "used by"],
  ...["running", "starting", "waiting", "pods"],
  ...["nodes", "starts on", "warns on", "fails on", "not now on", "no bridge on", "not known on", "what is wrong"],
];

export function networkRow(network: NetworkView): string[] {
  const { bridge = "", namespace, name, mtu = "", spoofCheck, resource = "", usedBy, nodes, findings } = network;
  const { running, starting, pending, pods } = network;
  const { total, works, warning, fails, notNow, noBridge, unknown } = nodes;
  return [
    ...[bridge, namespace, name, vlanText(network), String(mtu), spoofCheck ? "on" : "off", resource],
    usedBy.join(" "),
    ...[running, starting, pending, pods, total, works, warning, fails, notNow, noBridge, unknown].map(String),
    findings.map(({ summary }) => summary).join("; "),
  ];
}
