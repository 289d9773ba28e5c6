/**
 * What inspection says of networks (NetworkAttachmentDefinitions) and of the nodes' bridges that they lead to. The command line
 * and the page get the types from `views.ts`. Imports zod only.
 */

import * as z from "zod";

const count = z.int().min(0);

/**
 * What happens to a VM of a network that lands on a node. Warning: it starts, but not all is as the network says. Fails: it does
 * not start, or gets no connection. NotNow: it would start, and the node takes none. NoBridge: no VM of the network lands there.
 * Unknown: nobody knows, as of another plugin.
 */
const VERDICTS = ["Works", "Warning", "Fails", "NotNow", "NoBridge", "Unknown"] as const;
export type Verdict = (typeof VERDICTS)[number];

const verdict = z
  .enum(VERDICTS)
  .describe(
    "What happens to a VM of the network on the node. Works: it starts. Warning: it starts, but not all is as the network says. Fails: it does not start, or gets no connection. NotNow: none lands there as long as the node is NotReady or cordoned, or does not publish the bridge. NoBridge: none is sent there. Unknown: nobody knows, as of another plugin.",
  );

const networkFindingViewSchema = z.object({
  code: z
    .string()
    .describe("As of `kubectl macpool lint`, config-too-long, config-on-node, uplink-down or uplink-missing."),
  severity: z.enum(["error", "warning", "note"]),
  summary: z.string().describe("What is wrong, in a few words."),
  message: z.string().describe("What is wrong, what will happen, and what to write instead."),
});
export type NetworkFindingView = z.infer<typeof networkFindingViewSchema>;

const networkCellViewSchema = z.object({
  node: z.string(),
  running: count.describe("VMs that the reader may see, which run there on the network."),
  verdict,
  reason: z
    .string()
    .exactOptional()
    .describe("With NotNow: why, such as `is NotReady and cordoned`. Its subject is the node."),
});
export type NetworkCellView = z.infer<typeof networkCellViewSchema>;

const networkUserViewSchema = z.object({
  kind: z.enum(["VirtualMachine", "VirtualMachineInstance", "Pod"]),
  namespace: z.string(),
  name: z.string(),
  state: z
    .enum(["running", "starting", "waiting"])
    .describe("waiting: for a node. starting: it does not run yet, and waits for something else."),
  node: z.string().exactOptional(),
});
export type NetworkUserView = z.infer<typeof networkUserViewSchema>;

const networkNodesViewSchema = z
  .object({
    total: count.describe("Nodes that report their bridges."),
    withBridge: count,
    works: count,
    warning: count,
    fails: count,
    notNow: count,
    noBridge: count,
    unknown: count,
  })
  .describe("How many nodes have which verdict.");
export type NetworkNodesView = z.infer<typeof networkNodesViewSchema>;

export const networkViewSchema = z
  .object({
    namespace: z.string(),
    name: z.string(),
    type: z.string().exactOptional().describe("The first plugin of its configuration; absent where it can't be read."),
    bridge: z.string().exactOptional().describe("Absent where it is not one of the plugin bridge, or is refused."),
    vlan: count.exactOptional().describe("VLAN of the VM's untagged frames; absent for none."),
    trunk: z.string().exactOptional().describe('VLANs that the VM tags itself, such as "100-110,200".'),
    mtu: z
      .union([z.int(), z.literal("inherit")])
      .exactOptional()
      .describe("inherit: that of the bridge; absent: at most 1500."),
    spoofCheck: z.boolean().describe("Whether frames with another MAC address than the interface's are dropped."),
    resource: z.string().exactOptional().describe("Node resource that its annotation names."),
    nodes: networkNodesViewSchema,
    running: count.describe("VMs that run on it, of those that the reader may see; so of all numbers here."),
    pending: count.describe("VMs that wait for a node: their launcher pod has none."),
    starting: count.describe("VMs that do not run yet, and wait for something else."),
    pods: count.describe("Pods with a MAC address on it that belong to no VM."),
    usedBy: z.array(z.string()).describe("Namespaces of these VMs and pods, 16 at most."),
    waiting: z.array(z.string()).describe("VMs that wait for a node, as namespace/name, eight at most."),
    cells: z
      .array(networkCellViewSchema)
      .describe(
        "Nodes. In a list of more than 16 nodes at most eight: those with the bridge whose verdict is not that of most.",
      ),
    users: z
      .array(networkUserViewSchema)
      .exactOptional()
      .describe("These VMs and pods by name, 500 at most. Only in the answer about one network."),
    moreUsers: count.exactOptional().describe("Users that are left out."),
    findings: z.array(networkFindingViewSchema).describe("The worst first; four at most in a list."),
    moreFindings: count.describe("Findings that are left out."),
  })
  .meta({ id: "Network" });
export type NetworkView = z.infer<typeof networkViewSchema>;

const bridgeOnNodeViewSchema = z.object({
  node: z.string(),
  mtu: count,
  vlanFiltering: z.boolean().describe("Whether the bridge keeps VLANs apart."),
  uplink: z
    .enum(["up", "down", "none"])
    .exactOptional()
    .describe("Whether a port leads out of the node, and its wire is up; absent where the node does not say."),
  notNow: z
    .string()
    .exactOptional()
    .describe("Why no VM lands there now, such as `is cordoned`. Its subject is the node. Absent where one can."),
  running: count,
});
export type BridgeOnNodeView = z.infer<typeof bridgeOnNodeViewSchema>;

export const bridgeViewSchema = z
  .object({
    name: z.string(),
    nodes: count.describe("Nodes that have it."),
    totalNodes: count.describe("Nodes that report their bridges."),
    mtus: z.array(count).describe("Each MTU that it has on a node, ascending, eight at most."),
    filtering: z.enum(["on", "off", "mixed"]).exactOptional().describe("Of VLANs; absent where no node has it."),
    uplink: z.enum(["up", "down", "none", "mixed"]).exactOptional().describe("Absent where no node says."),
    networks: count.describe("Networks that lead to it, of those that the reader may see."),
    running: count.describe("VMs on these networks, each once for each network."),
    on: z
      .array(bridgeOnNodeViewSchema)
      .describe("Nodes that have it. Of more than 16 at most eight: those where it is not as on most."),
    problems: z.array(z.string()).describe("What is wrong with it, in a few words."),
    notes: z.array(z.string()).describe("What is good to know and may be meant, in a few words."),
  })
  .meta({ id: "Bridge" });
export type BridgeView = z.infer<typeof bridgeViewSchema>;
