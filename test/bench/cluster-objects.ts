/** Nodes, pods and VMs of a large cluster, as large as real ones. Pure. */

import { LAUNCHER, LAUNCHER_LABEL, NETWORK_STATUS_ANNOTATION } from "../../src/api/names.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { guestSpec } from "../mac-pool/machines.ts";
import { FAKE_NODE } from "../tools/kwok/kwok.ts";

/** A kubelet reports up to 50 images. */
const IMAGES = 50;
const IMAGE = "registry.example.com/some-project/some-service";
const DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const VARIABLES = 10;
/** What a launcher has beside the fields below: volumes, probes, resources. */
const LAUNCHER_BALLAST_BYTES = 2_000;
const VM_BALLAST_BYTES = 1_500;

export const nodeName = (index: number): string => `fake-${index}`;

export function fakeNode(index: number): KubeObject {
  const name = nodeName(index);
  const now = new Date().toISOString();
  const resources = { cpu: "64", memory: "256Gi", pods: "500", "ephemeral-storage": "1Ti" };
  const healthy = ["MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => condition(type, "False", now));
  return {
    metadata: {
      name,
      labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" },
      annotations: FAKE_NODE,
    },
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: [...healthy, condition("Ready", "True", now)],
      addresses: [{ type: "Hostname", address: name }],
      images: Array.from({ length: IMAGES }, (_, i) => ({
        names: [`${IMAGE}-${i}@sha256:${DIGEST}`, `${IMAGE}-${i}:v1.${i}.0`],
        sizeBytes: 100_000_000 + i,
      })),
    },
  };
}

/** What a kubelet writes when it has nothing to tell. */
export function heartbeat(): object {
  const now = new Date().toISOString();
  const types = ["MemoryPressure", "DiskPressure", "PIDPressure"];
  const conditions = [...types.map((type) => condition(type, "False", now)), condition("Ready", "True", now)];
  return { status: { conditions: conditions.map(({ type, lastHeartbeatTime }) => ({ type, lastHeartbeatTime })) } };
}

function condition(type: string, status: string, now: string) {
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  return { type, status, ...times, reason: `Kubelet${type}`, message: `kubelet reports ${type} as ${status}` };
}

/** multus annotates every pod. */
const BY_MULTUS = {
  [NETWORK_STATUS_ANNOTATION]: JSON.stringify([
    {
      name: "cluster-default",
      interface: "eth0",
      ips: ["10.200.0.7"],
      mac: "0a:58:0a:c8:00:07",
      default: true,
      dns: {},
    },
  ]),
};

const PLAIN_LABEL = { app: "some-service" };
export const PLAIN_PODS = "app=some-service";

export function plainPod(name: string, namespace: string, node: string): KubeObject {
  const variables = Array.from({ length: VARIABLES }, (_, i) => ({ name: `SETTING_${i}`, value: `value ${i}` }));
  return {
    metadata: { name, namespace, annotations: BY_MULTUS, labels: { ...PLAIN_LABEL, "pod-template-hash": "5d4f8c7b9" } },
    spec: {
      nodeName: node,
      containers: [
        {
          name: "service",
          image: `${IMAGE}:v1.0.0`,
          env: variables,
          resources: { requests: { cpu: "10m", memory: "64Mi" } },
          ports: [{ name: "http", containerPort: 8080 }],
          readinessProbe: { httpGet: { path: "/readyz", port: 8080 } },
        },
      ],
      tolerations: [{ operator: "Exists" }],
    },
  };
}

export function virtualMachine(name: string, namespace: string): KubeObject {
  return {
    metadata: { name, namespace, annotations: { "example.com/notes": "n".repeat(VM_BALLAST_BYTES) } },
    spec: { runStrategy: "Always", template: { spec: guestSpec([{ name: "net1" }]) } },
  };
}

const guestOf = (vm: KubeObject): object => (vm.spec as { readonly template: { readonly spec: object } }).template.spec;

/** The instance that KubeVirt makes of an admitted VM. */
export function instanceOf(vm: KubeObject): KubeObject {
  const { name = "", namespace = "", uid = "" } = vm.metadata;
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid, controller: true };
  return { metadata: { name, namespace, ownerReferences: [owner] }, spec: guestOf(vm) };
}

export function runningStatus(vm: KubeObject, node: string): object {
  const { domain } = guestOf(vm) as { domain: { devices: { interfaces: { name: string; macAddress?: string }[] } } };
  const interfaces = domain.devices.interfaces.map((nic) => ({ name: nic.name, mac: nic.macAddress }));
  return { phase: "Running", nodeName: node, interfaces };
}

export function launcherOf(instance: KubeObject, node: string): KubeObject {
  const { name = "", namespace = "", uid = "" } = instance.metadata;
  const pod = plainPod(`virt-launcher-${name}`, namespace, node);
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name, uid, controller: true };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { [LAUNCHER_LABEL]: LAUNCHER },
      annotations: { ...BY_MULTUS, "example.com/ballast": "b".repeat(LAUNCHER_BALLAST_BYTES) },
      ownerReferences: [owner],
    },
  };
}
