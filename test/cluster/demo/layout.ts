import { apiVersionOf, NODE_MACS } from "../../../src/api/kinds.ts";
import type { NodeBridge } from "../../../src/api/node-macs.ts";
import { type DemoCluster, kubectl, kubectlApply, onNode } from "./demo-cluster.ts";
import { attachmentDefinition, NAD_NAME, NAMESPACE, NODE_B, virtualMachine } from "./objects.ts";

/**
 * Networks of three tenants, for the page and for `kubectl macpool networks`: VLANs and a trunk, a bridge that only some nodes
 * have, a wire that is down, and networks that are written wrongly.
 */

export const TENANTS = ["tenant-a", "tenant-b", "tenant-lab"] as const;
const [TENANT_A, TENANT_B, LAB] = TENANTS;

/** On the network of another namespace. */
export const SHOP = { name: "shop", namespace: TENANT_A } as const;
/** Waits for a bridge that no node has. */
export const STRAY = { name: "stray", namespace: LAB } as const;

/**
 * A node that runs nothing: its object, and the report that a bridge-marker would write there. The nodes of the demo have no wires,
 * and the kernel of a laptop may have no bonds.
 */
export const DESCRIBED_NODE = "node-c";

const STORAGE: NodeBridge = {
  name: "br3",
  mtu: 9000,
  vlanFiltering: true,
  defaultVlan: 1,
  spanningTree: false,
  hasAddress: false,
  uplinks: [{ name: "bond0", carrier: false, mtu: 9000, vlans: ["1", "100-110", "200"], untaggedVlan: 1 }],
};

export async function layOut(demo: DemoCluster): Promise<void> {
  await onNode(demo, NODE_B, ["ip", "link", "set", "br2", "mtu", "9000", "up"]);
  await kubectlApply(demo, ...TENANTS.map(namespace), DESCRIBED);
  const uid = await kubectl(demo, ["get", `node/${DESCRIBED_NODE}`, "-o", "jsonpath={.metadata.uid}"]);
  await kubectlApply(demo, report(DESCRIBED_NODE, uid, [STORAGE]));
  await kubectlApply(
    demo,
    attachmentDefinition({ namespace: TENANT_A, name: "vlan100", config: { vlan: 100, mtu: "inherit" } }),
    attachmentDefinition({
      namespace: TENANT_B,
      name: "storage",
      bridge: "br3",
      config: { vlanTrunk: [{ minID: 100, maxID: 110 }, { id: 200 }], mtu: "inherit" },
    }),
    attachmentDefinition({ namespace: LAB, name: "noann", resource: null }),
    attachmentDefinition({
      namespace: LAB,
      name: "wrong",
      bridge: "br7",
      resource: "br1",
      config: { vlan: 100, mtu: 9000, portIsolaton: true },
    }),
    attachmentDefinition({ namespace: LAB, name: "br9", bridge: "br9" }),
  );
  await kubectlApply(
    demo,
    virtualMachine(SHOP.name, { namespace: SHOP.namespace, network: `${NAMESPACE}/${NAD_NAME}` }),
    virtualMachine(STRAY.name, { namespace: STRAY.namespace, network: "br9" }),
  );
}

const namespace = (name: string): object => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

/** The operator and its DaemonSets leave it out, by its label and for want of others. */
const DESCRIBED = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: DESCRIBED_NODE, labels: { type: "virtual-kubelet" } },
  spec: { unschedulable: true },
};

const report = (name: string, uid: string, bridges: readonly NodeBridge[]): object => ({
  apiVersion: apiVersionOf(NODE_MACS),
  kind: NODE_MACS.kind,
  metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] },
  addresses: [],
  bridges,
});
