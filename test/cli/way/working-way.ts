/** What is read of a VM whose frames of VLAN 100 leave its node, for tests that break one thing of it. */
import { NAD_RESOURCE_NAME_ANNOTATION, NETWORK_STATUS_ANNOTATION } from "../../../src/api/names.ts";
import type { NodeBridge, NodeMACs } from "../../../src/api/node-macs.ts";
import type { KnownHistory } from "../../../src/cli/backends/pool-backend.ts";
import type { Network } from "../../../src/cli/networks.ts";
import type { WayFacts, WayInterface } from "../../../src/cli/way/facts.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";

export const MAC = "02:5d:1c:00:00:a3";
export const HIDDEN = { unknown: "not visible to you: needs list on things" };

const SINCE = "2026-11-21T09:14:03Z";
const owner = { kind: "VirtualMachine", namespace: "lab", name: "web" } as const;

export const HISTORY: KnownHistory = {
  ...owner,
  exists: true,
  node: "node-a",
  pod: "launcher",
  interfaces: [{ interface: "net1", mac: MAC, claim: "mac-1", phase: "Bound", origin: "automatic", since: SINCE }],
  history: [{ at: SINCE, what: "bound", mac: MAC, interface: "net1", message: "bound" }],
  partial: [],
};

export const REFUSAL = { at: SINCE, what: "refused", code: "MACPOOL_CONFLICT", mac: MAC, message: "in use" } as const;

export function networkOf(config: object): Network {
  const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };
  const whole = { cniVersion: "0.3.1", name: "blue", type: "cnv-bridge", bridge: "br1", ...config };
  return { namespace: "lab", name: "blue", annotations, config: JSON.stringify(whole) };
}

export const NIC: WayInterface = {
  name: "net1",
  mac: MAC,
  nad: { namespace: "lab", name: "blue" },
  network: { value: networkOf({ vlan: 100, requireVlanFiltering: true }) },
};

export const ATTACHMENT = { name: "lab/blue", interface: "pod1b2c", mac: MAC.toUpperCase() };

export function podWith(status: Pod["status"], spec: object = { nodeName: "node-a" }, attachments?: unknown): Pod {
  const annotations = attachments === undefined ? {} : { [NETWORK_STATUS_ANNOTATION]: JSON.stringify(attachments) };
  return { metadata: { name: "launcher", namespace: "lab", annotations }, spec, status } as Pod;
}

export const UPLINK = { name: "eno2", carrier: true, mtu: 1500, vlans: ["1", "100-110"], untaggedVlan: 1 };

export const BRIDGE: NodeBridge = {
  name: "br1",
  mtu: 1500,
  vlanFiltering: true,
  defaultVlan: 1,
  uplinks: [UPLINK],
};

export function reportWith(bridges: readonly NodeBridge[] | undefined, macs: readonly string[] = []): NodeMACs {
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "node-a", uid: "1" }];
  const addresses = macs.map((mac) => ({ mac, interface: "eno1" }));
  return { metadata: { name: "node-a", ownerReferences }, addresses, ...(bridges && { bridges }) };
}

export const WORKING: WayFacts = {
  owner,
  history: { value: HISTORY },
  machine: { value: { metadata: { name: "web" } } },
  instance: { value: { metadata: { name: "web" } } },
  pod: { value: podWith({ phase: "Running" }, undefined, [{ name: "kindnet" }, ATTACHMENT]) },
  sandboxErrors: { value: [] },
  nodes: {
    value: [
      { name: "node-b", bridges: ["br1"], states: [] },
      { name: "node-a", bridges: ["br1", "br2"], states: [] },
      { name: "node-c", bridges: [], states: [] },
    ],
  },
  networks: { value: [] },
  reports: { value: [reportWith([BRIDGE])] },
  collisions: { value: [] },
  knowsRunning: true,
};
