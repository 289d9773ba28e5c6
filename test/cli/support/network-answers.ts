/** Networks and bridges of the golden outputs, checked against the schemas of inspection. */
import * as z from "zod";
import { bridgeViewSchema, type NetworkView, networkViewSchema } from "../../../src/mac-pool/inspection/rest/views.ts";

const NODES = ["node-a", "node-b", "node-c"];
const NO_NODES = { total: 3, withBridge: 1, works: 0, warning: 0, fails: 0, notNow: 0, noBridge: 0, unknown: 0 };
const NOBODY = {
  running: 0,
  pending: 0,
  starting: 0,
  pods: 0,
  usedBy: [],
  waiting: [],
  spoofCheck: false,
  moreFindings: 0,
};

type Cell = readonly [running: number, verdict: NetworkView["cells"][number]["verdict"]];

const cellsOf = (cells: readonly Cell[]) =>
  cells.map(([running, verdict], index) => ({ node: NODES[index], running, verdict }));

export const networks = z.array(networkViewSchema).parse([
  {
    ...NOBODY,
    namespace: "default",
    name: "br1-net",
    type: "cnv-bridge",
    bridge: "br1",
    mtu: "inherit",
    resource: "bridge.network.kubevirt.io/br1",
    nodes: { ...NO_NODES, works: 1, noBridge: 2 },
    running: 7,
    pods: 1,
    usedBy: ["default", "tenant-a", "tenant-b"],
    cells: cellsOf([
      [7, "Works"],
      [0, "NoBridge"],
      [0, "NoBridge"],
    ]),
    findings: [],
  },
  {
    ...NOBODY,
    namespace: "tenant-a",
    name: "vlan100",
    type: "bridge",
    bridge: "br1",
    vlan: 100,
    trunk: "200-210",
    spoofCheck: true,
    starting: 2,
    users: [
      { kind: "VirtualMachine", namespace: "tenant-a", name: "db", state: "starting", node: "node-a" },
      { kind: "VirtualMachineInstance", namespace: "tenant-a", name: "job", state: "starting" },
      { kind: "VirtualMachine", namespace: "tenant-a", name: "web", state: "running", node: "node-a" },
    ],
    moreUsers: 0,
    resource: "bridge.network.kubevirt.io/br1",
    nodes: { ...NO_NODES, warning: 1, noBridge: 2 },
    running: 1,
    usedBy: ["tenant-a"],
    cells: cellsOf([
      [1, "Warning"],
      [0, "NoBridge"],
      [0, "NoBridge"],
    ]),
    findings: [
      {
        code: "vlan-unfiltered",
        severity: "warning",
        summary: "bridge filters no VLANs",
        message:
          'br1 does not filter VLANs on node-a. Pods are not kept in their VLAN there. Set vlan_filtering 1 on the bridge, or write "enableVlanFiltering": true.',
      },
    ],
  },
  {
    ...NOBODY,
    namespace: "tenant-lab",
    name: "br9",
    type: "cnv-bridge",
    bridge: "br9",
    mtu: 9000,
    nodes: { ...NO_NODES, withBridge: 0, noBridge: 3 },
    pending: 1,
    usedBy: ["tenant-lab"],
    waiting: ["tenant-lab/nobridge2"],
    cells: cellsOf([
      [0, "NoBridge"],
      [0, "NoBridge"],
      [0, "NoBridge"],
    ]),
    findings: [
      {
        code: "bridge-on-no-node",
        severity: "warning",
        summary: "no node has its bridge",
        message:
          'br9 is published by none of 3 nodes. Make it on a node, or let the marker publish it, or correct "bridge".',
      },
    ],
  },
  {
    ...NOBODY,
    namespace: "tenant-lab",
    name: "sriov",
    type: "sriov",
    resource: "vendor.example/nic",
    nodes: { ...NO_NODES, withBridge: 0, unknown: 3 },
    cells: cellsOf([
      [0, "Unknown"],
      [0, "Unknown"],
      [0, "Unknown"],
    ]),
    findings: [],
  },
]);

export const bridges = z.array(bridgeViewSchema).parse([
  {
    name: "br1",
    nodes: 1,
    totalNodes: 3,
    mtus: [1500],
    filtering: "off",
    uplink: "up",
    networks: 2,
    running: 8,
    on: [{ node: "node-a", mtu: 1500, vlanFiltering: false, uplink: "up", running: 8 }],
    problems: ["does not filter VLANs on node-a"],
    notes: [],
  },
  {
    name: "br2",
    nodes: 1,
    totalNodes: 3,
    mtus: [9000],
    filtering: "on",
    uplink: "none",
    networks: 0,
    running: 0,
    on: [{ node: "node-b", mtu: 9000, vlanFiltering: true, uplink: "none", running: 0 }],
    problems: [],
    notes: ["no network uses it", "no uplink: VMs reach only VMs of the same node"],
  },
  {
    name: "br9",
    nodes: 0,
    totalNodes: 3,
    mtus: [],
    networks: 1,
    running: 0,
    on: [],
    problems: ["on no node"],
    notes: [],
  },
]);

/** The same where there are 1,000 nodes. */
export const manyNodes = {
  networks: z.array(networkViewSchema).parse([
    {
      ...NOBODY,
      namespace: "default",
      name: "br1-net",
      type: "cnv-bridge",
      bridge: "br1",
      vlan: 5,
      nodes: { total: 1_000, withBridge: 412, works: 410, warning: 0, fails: 2, notNow: 0, noBridge: 588, unknown: 0 },
      running: 1_024,
      cells: [
        { node: "node-0007", running: 0, verdict: "Fails" },
        { node: "node-0300", running: 3, verdict: "Fails" },
      ],
      findings: [
        {
          code: "vlan-unfiltered",
          severity: "warning",
          summary: "bridge filters no VLANs",
          message: "br1 does not filter VLANs on 2 of 412 nodes, such as node-0007.",
        },
      ],
    },
  ]),
  bridges: z.array(bridgeViewSchema).parse([
    {
      name: "br1",
      nodes: 412,
      totalNodes: 1_000,
      mtus: [1500],
      filtering: "mixed",
      networks: 1,
      running: 1_024,
      on: [],
      problems: ["does not filter VLANs on 2 of 412 nodes, such as node-0007"],
      notes: [],
    },
  ]),
};
