import { NAD_RESOURCE_NAME_ANNOTATION } from "../../../src/api/names.ts";
import type { NodeBridge } from "../../../src/api/node-macs.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";

/** NetworkAttachmentDefinitions, bridges of nodes, and instances on networks, for questions about networks. */

export interface NadOptions {
  /** br1 unless given. */
  readonly bridge?: string;
  /** What the annotation names; the bridge unless given, and nothing where null. */
  readonly resource?: string | null;
  /** More keys of the configuration. */
  readonly config?: object;
}

export function nadOf(namespace: string, name: string, options: NadOptions = {}): KubeObject {
  const { bridge = "br1", resource = bridge, config = {} } = options;
  const text = JSON.stringify({ cniVersion: "0.3.1", name, type: "cnv-bridge", bridge, mtu: "inherit", ...config });
  return rawNad(namespace, name, text, resource === null ? {} : resourceOf(resource));
}

export function rawNad(
  namespace: string,
  name: string,
  config: unknown,
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  const metadata = { namespace, name, uid: `nad-${namespace}-${name}`, annotations };
  return { metadata, spec: { config } } as KubeObject;
}

const resourceOf = (bridge: string) => ({ [NAD_RESOURCE_NAME_ANNOTATION]: `bridge.network.kubevirt.io/${bridge}` });

export function bridgeOf(name: string, settings: Partial<NodeBridge> = {}): NodeBridge {
  return { name, mtu: 1500, vlanFiltering: true, uplinks: [], ...settings };
}

/** The report of a node. */
export function reportOf(node: string, bridges: readonly NodeBridge[]): KubeObject {
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: node, uid: `node-${node}` }];
  return { metadata: { name: node, uid: `report-${node}`, ownerReferences }, addresses: [], bridges } as KubeObject;
}

/** A node that publishes bridges. */
export function nodeOf(name: string, bridges: readonly string[], state: "Ready" | "NotReady" | "cordoned" = "Ready") {
  const capacity = Object.fromEntries(bridges.map((bridge) => [`bridge.network.kubevirt.io/${bridge}`, "1k"]));
  const conditions = [{ type: "Ready", status: state === "NotReady" ? "Unknown" : "True" }];
  const metadata = { name, uid: `node-${name}` };
  return { metadata, spec: { unschedulable: state === "cordoned" }, status: { capacity, conditions } } as KubeObject;
}

/** An instance on networks, written as a VM does; without a node it waits for one. */
export function guestOf(
  namespace: string,
  name: string,
  networks: readonly string[],
  node = "",
  phase = "Running",
): KubeObject {
  const named = networks.map((networkName, index) => ({ name: `net${index}`, multus: { networkName } }));
  const interfaces = named.map((network) => ({ name: network.name, bridge: {} }));
  const status = node === "" ? { phase: "Scheduling" } : { phase, nodeName: node };
  const metadata = { namespace, name, uid: `vmi-${namespace}-${name}` };
  return { metadata, spec: { domain: { devices: { interfaces } }, networks: named }, status } as KubeObject;
}
