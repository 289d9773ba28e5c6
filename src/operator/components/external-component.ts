/**
 * Pods of other projects: their images, with the arguments, mounts and rights that each program needs. A container gets
 * the restricted security profile, and its component says what the program needs beyond that. Pure.
 */

import { LABEL_NEEDS_CLUSTER_SERVICES } from "../../api/names.ts";
import type { DaemonSet, Deployment } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { fingerprintOf } from "../apply/inventory.ts";
import type { ComponentImage } from "../config/component-images.ts";
import { daemonSetOf, deploymentOf, placed, pulled, soonReplaced, spread } from "../manifests/workload.ts";
import type { RenderInput } from "./component.ts";

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;
export type Container = PodSpec["containers"][number];
export type Volume = NonNullable<PodSpec["volumes"]>[number];
type SecurityContext = NonNullable<Container["securityContext"]>;
type Labels = Readonly<Record<string, string>>;

export interface ExternalWorkload {
  readonly name: string;
  readonly labels: Labels;
  /** Never change it: the API server refuses another selector. */
  readonly selector: Labels;
  readonly priorityClass: "system-cluster-critical" | "system-node-critical";
  /** ConfigMaps that the programs read at their start only: a change replaces the pods. */
  readonly configuration?: readonly KubeObject[];
  readonly pod: Omit<PodSpec, "priorityClassName" | "imagePullSecrets" | "nodeSelector" | "affinity" | "tolerations">;
}

const CONFIGURATION_ANNOTATION = "networkaddonsoperator.network.kubevirt.io/configuration";

/** Root without any right but those of the files that belong to it. */
export const ROOT_POD = { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: "RuntimeDefault" } };
export const UNPRIVILEGED: SecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};
/** SELinux forbids ordinary containers to use the node's files and sockets. */
export const HOST_FILES: SecurityContext = { ...UNPRIVILEGED, seLinuxOptions: { type: "spc_t" } };
/** The same for files and directories that belong to another user than root. */
export const ANY_HOST_FILES: SecurityContext = {
  ...HOST_FILES,
  capabilities: { drop: ["ALL"], add: ["DAC_OVERRIDE"] },
};
/** Every right on the node. */
export const PRIVILEGED: SecurityContext = { privileged: true };

export function externalDaemonSet(input: RenderInput, workload: ExternalWorkload): DaemonSet {
  return daemonSetOf(inNamespace(input, workload), template(input, workload, "workloads"));
}

export function externalDeployment(input: RenderInput, workload: ExternalWorkload, replicas: number): Deployment {
  const pod = { ...workload.pod, ...spread(workload.selector, replicas) };
  return deploymentOf({ ...inNamespace(input, workload), replicas }, template(input, { ...workload, pod }, "infra"));
}

/** `memory` is a request. There is no limit: a limit would kill the program when it grows. */
export function externalContainer(
  { spec, settings }: RenderInput,
  image: ComponentImage,
  { memory, ...container }: Omit<Container, "image" | "imagePullPolicy" | "resources"> & { readonly memory: string },
): Container {
  return {
    ...container,
    image: settings.componentImages[image],
    imagePullPolicy: spec.imagePullPolicy,
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: { requests: { cpu: "10m", memory } },
  };
}

export function hostVolume(name: string, path: string, type: "Directory" | "DirectoryOrCreate" | "Socket"): Volume {
  return { name, hostPath: { path, type } };
}

/** A ConfigMap with one file of JSON. */
export function jsonConfigMap(
  { settings }: RenderInput,
  { name, labels, file }: { readonly name: string; readonly labels: Labels; readonly file: string },
  config: Readonly<Record<string, unknown>>,
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: settings.operandNamespace, labels },
    data: { [file]: `${JSON.stringify(config, undefined, 2)}\n` },
  };
}

function inNamespace({ settings }: RenderInput, workload: ExternalWorkload) {
  return { ...workload, namespace: settings.operandNamespace };
}

function template(input: RenderInput, workload: ExternalWorkload, placement: "infra" | "workloads") {
  const { labels, selector, priorityClass, configuration = [], pod } = workload;
  const where = input.spec.placementConfiguration[placement];
  const annotations =
    configuration.length === 0
      ? {}
      : { annotations: { [CONFIGURATION_ANNOTATION]: configuration.map(fingerprintOf).join("-") } };
  return {
    // NetworkPolicies do not concern pods on the node's network.
    metadata: {
      labels: { ...labels, ...selector, ...(pod.hostNetwork ? {} : { [LABEL_NEEDS_CLUSTER_SERVICES]: "true" }) },
      ...annotations,
    },
    spec: {
      ...pod,
      ...pulled(input.settings.imagePullSecrets),
      priorityClassName: priorityClass,
      ...placed(placement === "infra" ? soonReplaced(where) : where),
    },
  };
}
