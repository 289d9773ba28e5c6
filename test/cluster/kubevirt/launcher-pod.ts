import { createHash } from "node:crypto";
import { NETWORKS_ANNOTATION } from "../multus/network-selection.ts";
import type { VirtualMachineInstance, VmNetwork } from "./virtual-machine.ts";

/**
 * The virt-launcher pod of a VirtualMachineInstance, with what other software reads off it: KubeVirt's labels, the
 * owner, the networks annotation. It asks for no extended resource: KubeVirt from 1.9 on leaves that to others.
 */

export const LAUNCHER_IMAGE = "localhost/guest:dev";

const LABEL_APP = "kubevirt.io";
export const LABEL_CREATED_BY = "kubevirt.io/created-by";
export const LABEL_MIGRATION = "kubevirt.io/migrationJobUID";
const LABEL_VM_NAME = "vm.kubevirt.io/name";
const ANNOTATION_DOMAIN = "kubevirt.io/domain";
const ANNOTATION_MIGRATION = "kubevirt.io/migrationJobName";

/** pid 1 without a handler ignores SIGTERM, and the guest would then hold its node for the whole grace period. */
const GUEST_COMMAND = ["sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait"];
const DEFAULT_GRACE_SECONDS = 30;

/** A multus network selection element, with the keys that virt-controller writes. */
export interface NetworkSelection {
  readonly name: string;
  readonly namespace: string;
  readonly mac?: string;
  readonly interface: string;
}

/** Pod-side link of a multus network: `pod` and 11 hex digits, which fits the kernel's 15 characters. */
export function podInterfaceName(network: VmNetwork): string {
  if (network.multus === undefined || network.multus.default === true) return "eth0";
  return `pod${createHash("sha256").update(network.name).digest("hex").slice(0, 11)}`;
}

/** What multus shall attach, in the order of the VMI's networks; interfaces marked absent are left out. */
export function networkSelections(vmi: VirtualMachineInstance): NetworkSelection[] {
  const interfaces = vmi.spec?.domain?.devices?.interfaces ?? [];
  return (vmi.spec?.networks ?? []).flatMap((network) => {
    const nic = interfaces.find((candidate) => candidate.name === network.name);
    if (network.multus === undefined || network.multus.default === true || nic?.state === "absent") return [];
    const [namespace, name] = nadReference(network.multus.networkName, vmi.metadata.namespace ?? "default");
    const mac = nic?.macAddress === undefined || nic.macAddress === "" ? {} : { mac: nic.macAddress };
    return [{ name, namespace, ...mac, interface: podInterfaceName(network) }];
  });
}

/** `name` or `namespace/name` -> [namespace, name]. */
function nadReference(networkName: string, defaultNamespace: string): [string, string] {
  const slash = networkName.indexOf("/");
  if (slash < 0) return [defaultNamespace, networkName];
  return [networkName.slice(0, slash), networkName.slice(slash + 1)];
}

export interface MigrationTarget {
  readonly migrationName: string;
  readonly migrationUid: string;
  /** The target must be another node than this one. */
  readonly sourceNode: string;
}

/** A launcher pod to create; with `target` the second one of a live migration. */
export function launcherPod(vmi: VirtualMachineInstance, target?: MigrationTarget) {
  const { name = "", namespace = "default", uid = "" } = vmi.metadata;
  const selections = networkSelections(vmi);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: `virt-launcher-${name}-`,
      namespace,
      labels: {
        ...vmi.metadata.labels,
        [LABEL_APP]: "virt-launcher",
        [LABEL_CREATED_BY]: uid,
        [LABEL_VM_NAME]: name,
        ...(target === undefined ? {} : { [LABEL_MIGRATION]: target.migrationUid }),
      },
      annotations: {
        [ANNOTATION_DOMAIN]: name,
        ...(target === undefined ? {} : { [ANNOTATION_MIGRATION]: target.migrationName }),
        ...(selections.length === 0 ? {} : { [NETWORKS_ANNOTATION]: JSON.stringify(selections) }),
      } as Record<string, string>,
      ownerReferences: [
        {
          apiVersion: "kubevirt.io/v1",
          kind: "VirtualMachineInstance",
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostname: name,
      terminationGracePeriodSeconds: vmi.spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
      ...(vmi.spec?.nodeSelector === undefined ? {} : { nodeSelector: vmi.spec.nodeSelector }),
      ...(target === undefined ? {} : { affinity: awayFrom(target.sourceNode) }),
      containers: [{ name: "compute", image: LAUNCHER_IMAGE, command: GUEST_COMMAND }],
    },
  };
}

function awayFrom(node: string): object {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "NotIn", values: [node] }] }],
      },
    },
  };
}
