/** What a pod takes of its node, beyond what the restricted profile leaves it. Pure. */

import type { DaemonSet, Deployment } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;
type Container = PodSpec["containers"][number];

export interface HostAccess {
  readonly network: boolean;
  readonly ports: boolean;
  readonly processes: boolean;
  readonly directories: boolean;
  readonly privileged: boolean;
  readonly root: boolean;
  /** It names its SELinux type, or gets one that nothing confines. */
  readonly ownSeLinuxType: boolean;
  readonly capabilities: readonly string[];
}

/** The restricted profile leaves it. */
const HARMLESS_CAPABILITY = "NET_BIND_SERVICE";

/** Undefined for a pod that needs none, and for an object that has no pods. */
export function hostAccess(workload: KubeObject): HostAccess | undefined {
  const pod = podOf(workload);
  if (pod === undefined) return undefined;
  const containers = containersOf(pod);
  const is = (holds: (container: Container) => boolean): boolean => containers.some(holds);
  const privileged = is(({ securityContext }) => securityContext?.privileged === true);
  const access: HostAccess = {
    network: pod.hostNetwork === true,
    ports: is(({ ports = [] }) => ports.some(({ hostPort }) => pod.hostNetwork === true || hostPort !== undefined)),
    processes: pod.hostPID === true,
    directories: (pod.volumes ?? []).some(({ hostPath }) => hostPath !== undefined),
    privileged,
    root: is(({ securityContext }) => (securityContext?.runAsUser ?? pod.securityContext?.runAsUser) === 0),
    ownSeLinuxType: privileged || is(({ securityContext }) => securityContext?.seLinuxOptions !== undefined),
    capabilities: [...new Set(containers.flatMap(addedBy))].sort(),
  };
  const isRestricted = Object.values(access).every((part) => part === false || Array.isArray(part));
  return isRestricted && access.capabilities.every((name) => name === HARMLESS_CAPABILITY) ? undefined : access;
}

export function podOf(workload: KubeObject): PodSpec | undefined {
  if (workload.kind !== "Deployment" && workload.kind !== "DaemonSet") return undefined;
  return (workload as Deployment | DaemonSet).spec?.template.spec;
}

export function containersOf(pod: PodSpec): Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers];
}

function addedBy({ securityContext }: Container): string[] {
  return securityContext?.capabilities?.add ?? [];
}
