/** VM lab/web with two interfaces, as the API server and the pool's service tell of it, for tests of explain that break one thing. */
import { NETWORK_STATUS_ANNOTATION } from "../../../src/api/names.ts";
import type { KnownHistory, KnownInterface } from "../../../src/cli/backends/pool-backend.ts";
import { ATTACHMENT, BRIDGE, HISTORY, MAC, networkOf, reportWith } from "../way/working-way.ts";
import { AGO } from "./answers.ts";
import { type Answer, problem, type Script, status } from "./scripted-cluster.ts";

export const GREEN_MAC = "02:5d:1c:00:00:a4";
export const POD = "virt-launcher-web-x7k2p";

/** Paths of the API server, and what is there. */
export type Objects = Readonly<Record<string, Answer>>;

export const there = (body: object): Answer => ({ body });
export const list = (...items: object[]): Answer => ({ body: { metadata: { resourceVersion: "1" }, items } });
export const FORBIDDEN = status(403, 'nodes is forbidden: User "t" cannot list resource "nodes"', "Forbidden");

export const NICS = { interfaces: [nic("net1", MAC), nic("net2", GREEN_MAC)] };
export const NETWORKS = [
  { name: "net1", multus: { networkName: "blue" } },
  { name: "net2", multus: { networkName: "lab/green" } },
];

export function nic(name: string, macAddress: string) {
  return { name, macAddress, bridge: {} };
}

export function nad(name: string, config: object): Answer {
  const network = { ...networkOf(config), name };
  return there({
    metadata: { name, namespace: "lab", annotations: network.annotations },
    spec: { config: network.config },
  });
}

export const PODS = "/api/v1/namespaces/lab/pods";
export const KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/lab";
export const NADS = "/apis/k8s.cni.cncf.io/v1/namespaces/lab/network-attachment-definitions";
export const EVENTS = "/api/v1/namespaces/lab/events";

export const launcher = (attachments: readonly object[]) => ({
  metadata: {
    name: POD,
    namespace: "lab",
    uid: "pod-1",
    ownerReferences: [{ kind: "VirtualMachineInstance", name: "web", uid: "vmi-1" }],
    annotations: attachments.length === 0 ? {} : { [NETWORK_STATUS_ANNOTATION]: JSON.stringify(attachments) },
  },
  spec: { nodeName: "node-a" },
  status: { phase: attachments.length === 0 ? "Pending" : "Running" },
});

export const node = (name: string, ...bridges: string[]) => ({
  metadata: { name },
  status: { capacity: Object.fromEntries(bridges.map((bridge) => [`bridge.network.kubevirt.io/${bridge}`, "1k"])) },
});

export const WORKING: Objects = {
  [`${KUBEVIRT}/virtualmachines/web`]: there({
    metadata: { name: "web", namespace: "lab" },
    spec: { template: { spec: { domain: { devices: NICS }, networks: NETWORKS } } },
  }),
  [`${KUBEVIRT}/virtualmachineinstances/web`]: there({ metadata: { name: "web", uid: "vmi-1" } }),
  [PODS]: list(launcher([ATTACHMENT, { name: "lab/green", interface: "pod3d4e", mac: GREEN_MAC }])),
  [`${NADS}/blue`]: nad("blue", { vlan: 100, requireVlanFiltering: true }),
  [`${NADS}/green`]: nad("green", { vlan: 200 }),
  [EVENTS]: list(),
  "/api/v1/nodes": list(node("node-a", "br1"), node("node-b", "br1"), node("node-c")),
};

export const STARTING: Objects = {
  [`${KUBEVIRT}/virtualmachineinstances/web`]: there({
    metadata: { name: "web", uid: "vmi-1" },
    status: { phase: "Scheduled", nodeName: "node-a" },
  }),
  [PODS]: list(launcher([])),
};

export function knownNic(name: string, mac: string, network: string): KnownInterface {
  return {
    ...(HISTORY.interfaces[0] as KnownInterface),
    interface: name,
    mac,
    network,
    origin: "automatic",
    since: AGO(120),
  };
}

export const KNOWN: KnownHistory = {
  ...HISTORY,
  pod: POD,
  interfaces: [knownNic("net1", MAC, "multus blue"), knownNic("net2", GREEN_MAC, "multus lab/green")],
  history: [{ at: AGO(118), what: "bound", mac: MAC, interface: "net1", message: `was seen with ${MAC}` }],
};

export function script(objects: Objects = {}, more: Script = {}): Script {
  const all = { ...WORKING, ...objects };
  return {
    rest: service(KNOWN),
    hosts: [reportWith([BRIDGE])],
    other: (path) => all[path],
    ...more,
  };
}

/** What the pool's service says. */
export function service(known: KnownHistory): NonNullable<Script["rest"]> {
  return (path) => {
    if (path === `owners/${known.kind}/lab/${known.name}`) return there(known);
    if (path.startsWith("networks/")) return problem(403, "FORBIDDEN", "User t may not read networks.");
    return path === "collisions" ? there({ items: [], total: 0 }) : undefined;
  };
}
