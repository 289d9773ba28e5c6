import { NETWORK_ADDONS_CONFIG_NAME, NETWORK_ADDONS_GROUP } from "../../../src/api/names.ts";

/** What the demo's user applies. */

export const NODE_A = "node-a";
export const NODE_B = "node-b";
export const NAMESPACE = "default";
export const NAD_NAME = "br1-net";
export const QUARANTINE_SECONDS = 5;

/** The name of the VMs' network, which pairs with the interface of that name. */
export const NETWORK = "net1";

const BRIDGE = "br1";
const RESOURCE = `bridge.network.kubevirt.io/${BRIDGE}`;

export interface Addons {
  readonly linuxBridge?: object;
  readonly kubeMacPool?: object;
  readonly multus?: object;
  readonly multusDynamicNetworks?: object;
}

export const networkAddonsConfig = (spec: Addons): object => ({
  apiVersion: `${NETWORK_ADDONS_GROUP}/v1`,
  kind: "NetworkAddonsConfig",
  metadata: { name: NETWORK_ADDONS_CONFIG_NAME },
  spec,
});

export const attachmentDefinition = (): object => ({
  apiVersion: "k8s.cni.cncf.io/v1",
  kind: "NetworkAttachmentDefinition",
  metadata: { name: NAD_NAME, namespace: NAMESPACE, annotations: { "k8s.v1.cni.cncf.io/resourceName": RESOURCE } },
  spec: { config: JSON.stringify({ cniVersion: "0.3.1", name: NAD_NAME, type: "cnv-bridge", bridge: BRIDGE }) },
});

/** A running VM with one NIC on br1; without `macAddress` the pool chooses one. */
export const virtualMachine = (name: string, macAddress?: string): object => ({
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachine",
  metadata: { name, namespace: NAMESPACE },
  spec: {
    runStrategy: "Always",
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 5,
        domain: {
          devices: {
            interfaces: [{ name: NETWORK, bridge: {}, ...(macAddress === undefined ? {} : { macAddress }) }],
          },
        },
        networks: [{ name: NETWORK, multus: { networkName: NAD_NAME } }],
      },
    },
  },
});
