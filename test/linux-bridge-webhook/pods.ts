/** Pods whose injection is on record in test/golden/injection.json, and the networks that they ask for. */
import {
  DEFAULT_NETWORK_ANNOTATION,
  LAUNCHER,
  LAUNCHER_LABEL,
  NAD_NODE_SELECTOR_ANNOTATION,
  NAD_RESOURCE_NAME_ANNOTATION,
  NETWORKS_ANNOTATION,
} from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";

export const BR1 = "bridge.network.kubevirt.io/br1";
export const BR2 = "bridge.network.kubevirt.io/br2";
const BR9 = "bridge.network.kubevirt.io/br9";

/** Annotations of NetworkAttachmentDefinitions, by namespace and name. */
export const NADS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "default/br1": { [NAD_RESOURCE_NAME_ANNOTATION]: BR1 },
  "default/br1-vlan7": { [NAD_RESOURCE_NAME_ANNOTATION]: BR1 },
  "default/br2": { [NAD_RESOURCE_NAME_ANNOTATION]: BR2, [NAD_NODE_SELECTOR_ANNOTATION]: "example.com/rack=a" },
  "default/rack-b": { [NAD_NODE_SELECTOR_ANNOTATION]: "example.com/rack=b" },
  "default/fast": { [NAD_NODE_SELECTOR_ANNOTATION]: "example.com/fast" },
  "default/plain": {},
  "default/misspelt": { [NAD_RESOURCE_NAME_ANNOTATION]: "br1" },
  "other/br2": { [NAD_RESOURCE_NAME_ANNOTATION]: BR2 },
  "kube-system/primary": { [NAD_RESOURCE_NAME_ANNOTATION]: BR9 },
};

type Container = NonNullable<Pod["spec"]>["containers"][number];
type Resources = NonNullable<Container["resources"]>;

const asking = (amounts: Readonly<Record<string, string>>): Resources => ({
  requests: { ...amounts },
  limits: { ...amounts },
});

interface Parts {
  readonly networks?: string | readonly object[];
  readonly defaultNetwork?: string;
  readonly metadata?: KubeObject["metadata"];
  readonly containers?: readonly Partial<Container>[];
  readonly spec?: Partial<NonNullable<Pod["spec"]>>;
}

function pod({ networks, defaultNetwork, metadata, containers = [{}], spec }: Parts): Pod {
  const text = typeof networks === "string" || networks === undefined ? networks : JSON.stringify(networks);
  return {
    metadata: {
      namespace: "default",
      generateName: "web-",
      ...metadata,
      annotations: {
        ...metadata?.annotations,
        ...(text === undefined ? {} : { [NETWORKS_ANNOTATION]: text }),
        ...(defaultNetwork === undefined ? {} : { [DEFAULT_NETWORK_ANNOTATION]: defaultNetwork }),
      },
    },
    spec: {
      ...spec,
      containers: containers.map((container, index) => ({ name: `c${index}`, image: "example.com/c", ...container })),
    },
  };
}

const LAUNCHER_METADATA = {
  generateName: "virt-launcher-vm1-",
  labels: { [LAUNCHER_LABEL]: LAUNCHER, "vm.kubevirt.io/name": "vm1" },
  annotations: { "kubevirt.io/domain": "vm1" },
};
const LAUNCHER_NETWORKS = [
  { name: "br1", namespace: "default", mac: "02:5d:1c:00:00:a3", interface: "pod1b2c3d4e5f6" },
  { name: "br2", namespace: "default", interface: "pod6f5e4d3c2b1" },
];
const COMPUTE: Resources = {
  requests: { cpu: "100m", memory: "2Gi", "devices.kubevirt.io/kvm": "1", "devices.kubevirt.io/vhost-net": "1" },
  limits: { "devices.kubevirt.io/kvm": "1", "devices.kubevirt.io/vhost-net": "1" },
};
const withAmounts = (resources: Resources, amounts: Readonly<Record<string, string>>) => ({
  requests: { ...resources.requests, ...amounts },
  limits: { ...resources.limits, ...amounts },
});

/** By what is special about them. */
export const PODS: Readonly<Record<string, Pod>> = {
  "shorthand, one network": pod({ networks: "br1" }),
  "shorthand with namespace and interface": pod({ networks: "default/br1@eth7 , other/br2" }),
  "JSON, one network": pod({ networks: [{ name: "br1" }] }),
  "JSON with keys in other cases and unknown fields": pod({
    networks: [{ Name: "br1", "cni-args": { a: 1 }, "ipam-claim-reference": "c" }],
  }),
  "the same network twice": pod({ networks: "br1,br1@eth7" }),
  "two networks on one resource": pod({ networks: "br1,br1-vlan7" }),
  "two resources and a node label": pod({ networks: "br1,br2" }),
  "a network without a resource": pod({ networks: "plain" }),
  "a network whose resource is misspelt": pod({ networks: "misspelt,br1" }),
  "a default network without a namespace": pod({ defaultNetwork: "primary" }),
  "a default network and another one": pod({ networks: "br1", defaultNetwork: "default/br1-vlan7" }),
  "a request that is larger": pod({ networks: "br1", containers: [{ resources: asking({ [BR1]: "3" }) }] }),
  "a request that is smaller": pod({ networks: "br1,br1", containers: [{ resources: asking({ [BR1]: "1" }) }] }),
  "a request in another notation": pod({ networks: "br1", containers: [{ resources: asking({ [BR1]: "1k" }) }] }),
  "other requests": pod({
    networks: "br1",
    containers: [{ resources: { requests: { cpu: "1" }, limits: { memory: "1Gi" } } }],
  }),
  "a request on the second container": pod({
    networks: "br1,br1",
    containers: [{}, { resources: asking({ [BR1]: "1" }) }],
  }),
  "init containers": pod({
    networks: "br1",
    spec: { initContainers: [{ name: "init", image: "example.com/i", resources: asking({ cpu: "1" }) }] },
  }),
  "a sidecar that requests the resource": pod({
    networks: "br1",
    spec: {
      initContainers: [
        { name: "side", image: "example.com/s", restartPolicy: "Always", resources: asking({ [BR1]: "1" }) },
      ],
    },
  }),
  "a node selector of its own": pod({ networks: "br2", spec: { nodeSelector: { disk: "ssd" } } }),
  "a node selector that contradicts": pod({ networks: "br2", spec: { nodeSelector: { "example.com/rack": "c" } } }),
  "two networks whose node labels contradict": pod({ networks: "br2,rack-b" }),
  "a node label without a value": pod({ networks: "fast" }),
  "virt-launcher of KubeVirt 1.9": pod({
    networks: LAUNCHER_NETWORKS,
    metadata: LAUNCHER_METADATA,
    containers: [{ name: "compute", resources: COMPUTE }, { name: "guest-console-log" }],
  }),
  "virt-launcher of KubeVirt 1.8, which requests the resources": pod({
    networks: LAUNCHER_NETWORKS,
    metadata: LAUNCHER_METADATA,
    containers: [{ name: "compute", resources: withAmounts(COMPUTE, { [BR1]: "1", [BR2]: "1" }) }],
  }),
  "CDI importer": pod({
    networks: "br1",
    metadata: {
      generateName: "importer-prime-",
      labels: { app: "containerized-data-importer", "cdi.kubevirt.io": "importer" },
      annotations: { "cdi.kubevirt.io/storage.createdByController": "yes" },
    },
    containers: [
      { name: "importer", resources: { requests: { cpu: "100m", memory: "60M" }, limits: { cpu: "750m" } } },
    ],
    spec: { restartPolicy: "OnFailure" },
  }),
  "a network that does not exist": pod({ networks: "br1,br3" }),
  "a name that no object can have": pod({ networks: [{ name: "../../secrets/x" }] }),
  "the network of its node": pod({ networks: "br3", spec: { hostNetwork: true } }),
  "an annotation that multus refuses": pod({ networks: "br1,,br2" }),
};
