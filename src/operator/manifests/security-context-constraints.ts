/**
 * SecurityContextConstraints, which OpenShift and its kin demand for every right of a pod on its node. They are computed from
 * the pods: one for each account whose pods need the node, with exactly what these need. All other pods get along with
 * `restricted-v2`, which every account may use. Pure.
 */

import { apiVersionOf, SECURITY_CONTEXT_CONSTRAINTS } from "../../api/kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { containersOf, type HostAccess, hostAccess, podOf } from "./host-access.ts";
import { grant, rule } from "./rbac.ts";

/** The API server serves them while this definition is established. */
export const CONSTRAINTS_DEFINITION = `${SECURITY_CONTEXT_CONSTRAINTS.plural}.${SECURITY_CONTEXT_CONSTRAINTS.group}`;

/** For the pods of these workloads. Each account may use its own, in its namespace. */
export function constraintsFor(objects: readonly KubeObject[]): KubeObject[] {
  return objects.flatMap((workload) => {
    const access = hostAccess(workload);
    return access === undefined ? [] : constraintsOf(workload, access);
  });
}

function constraintsOf(workload: KubeObject, access: HostAccess): KubeObject[] {
  const { namespace = "", labels = {} } = workload.metadata;
  const account = podOf(workload)?.serviceAccountName ?? "default";
  const { group, plural, kind } = SECURITY_CONTEXT_CONSTRAINTS;
  return [
    {
      apiVersion: apiVersionOf(SECURITY_CONTEXT_CONSTRAINTS),
      kind,
      metadata: { name: account, labels },
      ...limits(workload, access),
      // Who may use them is a matter of the role.
      users: [],
      groups: [],
    },
    ...grant({
      name: `${account}-scc`,
      namespace,
      labels,
      rules: [rule(group, [plural], ["use"], [account])],
      to: { name: account, namespace },
    }),
  ];
}

function limits(workload: KubeObject, access: HostAccess): object {
  const pod = podOf(workload);
  const containers = pod === undefined ? [] : containersOf(pod);
  return {
    priority: 0,
    allowHostNetwork: access.network,
    allowHostPorts: access.ports,
    allowHostPID: access.processes,
    allowHostIPC: false,
    allowHostDirVolumePlugin: access.directories,
    allowPrivilegedContainer: access.privileged,
    // A container that is privileged cannot do without.
    allowPrivilegeEscalation: access.privileged,
    allowedCapabilities: access.capabilities,
    defaultAddCapabilities: [],
    requiredDropCapabilities: access.privileged ? [] : ["ALL"],
    readOnlyRootFilesystem: containers.every(({ securityContext }) => securityContext?.readOnlyRootFilesystem === true),
    runAsUser: access.root ? { type: "MustRunAs", uid: 0 } : { type: "MustRunAsRange" },
    // MustRunAs wants the level of the namespace, which a pod that names its type does not know.
    seLinuxContext: { type: access.ownSeLinuxType ? "RunAsAny" : "MustRunAs" },
    fsGroup: { type: "MustRunAs" },
    supplementalGroups: { type: "MustRunAs" },
    seccompProfiles: ["runtime/default"],
    volumes: volumeTypes(pod),
  };
}

/** In the order in which OpenShift stores them. */
function volumeTypes(pod: ReturnType<typeof podOf>): string[] {
  const types = (pod?.volumes ?? []).flatMap(({ name: _, ...source }) => Object.keys(source));
  // The account's token comes in a volume that the API server adds.
  const token = pod?.automountServiceAccountToken === false ? [] : ["projected"];
  return [...new Set([...types, ...token])].sort();
}
