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
const RESOURCE_PREFIX = "bridge.network.kubevirt.io/";
const RESOURCE_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName";

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

interface AttachmentOptions {
  readonly namespace?: string;
  readonly name?: string;
  readonly bridge?: string;
  /** Bridge that the annotation names; that of the configuration unless given, and no annotation where null. */
  readonly resource?: string | null;
  /** More keys of the configuration. */
  readonly config?: object;
}

export function attachmentDefinition(options: AttachmentOptions = {}): object {
  const { namespace = NAMESPACE, name = NAD_NAME, bridge = BRIDGE, resource = bridge, config = {} } = options;
  const annotations = resource === null ? {} : { [RESOURCE_ANNOTATION]: RESOURCE_PREFIX + resource };
  return {
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name, namespace, annotations },
    spec: { config: JSON.stringify({ cniVersion: "0.3.1", name, type: "cnv-bridge", bridge, ...config }) },
  };
}

interface MachineOptions {
  /** Without it the pool chooses one. */
  readonly macAddress?: string | undefined;
  readonly namespace?: string;
  readonly network?: string;
}

/** A running VM with one NIC, on br1 unless another network is given. */
export function virtualMachine(name: string, options: MachineOptions = {}): object {
  const { macAddress, namespace = NAMESPACE, network = NAD_NAME } = options;
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { name, namespace },
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
          networks: [{ name: NETWORK, multus: { networkName: network } }],
        },
      },
    },
  };
}
