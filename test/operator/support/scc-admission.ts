/** How OpenShift judges a pod by SecurityContextConstraints, for the fields that pods of this product use. */

import type { DaemonSet, Deployment } from "../../../src/kube/client/built-in-kinds.ts";

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;
type Container = PodSpec["containers"][number];

export interface Constraints {
  readonly allowHostNetwork: boolean;
  readonly allowHostPorts: boolean;
  readonly allowHostPID: boolean;
  readonly allowHostIPC: boolean;
  readonly allowHostDirVolumePlugin: boolean;
  readonly allowPrivilegedContainer: boolean;
  readonly allowPrivilegeEscalation: boolean;
  readonly readOnlyRootFilesystem: boolean;
  readonly allowedCapabilities: readonly string[];
  readonly requiredDropCapabilities: readonly string[];
  readonly runAsUser: { readonly type: "MustRunAs" | "MustRunAsRange"; readonly uid?: number };
  readonly seLinuxContext: { readonly type: "MustRunAs" | "RunAsAny" };
  readonly seccompProfiles: readonly string[];
  readonly volumes: readonly string[];
}

/** What every account on OpenShift may use. */
export const RESTRICTED_V2: Constraints = {
  allowHostNetwork: false,
  allowHostPorts: false,
  allowHostPID: false,
  allowHostIPC: false,
  allowHostDirVolumePlugin: false,
  allowPrivilegedContainer: false,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: false,
  allowedCapabilities: ["NET_BIND_SERVICE"],
  requiredDropCapabilities: ["ALL"],
  runAsUser: { type: "MustRunAsRange" },
  seLinuxContext: { type: "MustRunAs" },
  seccompProfiles: ["runtime/default"],
  volumes: [
    ...["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"],
    ...["projected", "secret"],
  ],
};

/** What is refused in the pod, or changed in it so that it does not run as it asks to. */
export function violations(workload: Deployment | DaemonSet, allowed: Constraints): string[] {
  const pod = workload.spec?.template.spec;
  if (pod === undefined) throw new Error(`${workload.metadata.name} has no pods`);
  const containers = [...(pod.initContainers ?? []), ...pod.containers];
  return [
    ...(pod.hostNetwork && !allowed.allowHostNetwork ? ["host network"] : []),
    ...(pod.hostPID && !allowed.allowHostPID ? ["host processes"] : []),
    ...(pod.hostIPC && !allowed.allowHostIPC ? ["host IPC"] : []),
    ...volumeTypes(pod).flatMap((type) => {
      const isDirectory = type === "hostPath" && !allowed.allowHostDirVolumePlugin;
      return isDirectory || !allowed.volumes.includes(type) ? [`volume ${type}`] : [];
    }),
    ...containers.flatMap((container) =>
      ofContainer(container, pod, allowed).map((what) => `${container.name} ${what}`),
    ),
  ];
}

function volumeTypes(pod: PodSpec): string[] {
  const types = (pod.volumes ?? []).flatMap((volume) => Object.keys(volume).filter((key) => key !== "name"));
  return pod.automountServiceAccountToken === false ? types : [...types, "projected"];
}

function ofContainer(container: Container, pod: PodSpec, allowed: Constraints): string[] {
  const { ports = [], securityContext: own = {} } = container;
  const privileged = own.privileged === true;
  const user = own.runAsUser ?? pod.securityContext?.runAsUser;
  const seccomp = own.seccompProfile ?? pod.securityContext?.seccompProfile;
  const { add = [], drop = [] } = own.capabilities ?? {};
  const faults: readonly (readonly [boolean, string])[] = [
    [privileged && !allowed.allowPrivilegedContainer, "privileged"],
    [own.allowPrivilegeEscalation !== false && !allowed.allowPrivilegeEscalation, "privilege escalation"],
    [own.readOnlyRootFilesystem !== true && allowed.readOnlyRootFilesystem, "root file system"],
    [add.some((name) => !allowed.allowedCapabilities.includes(name)), "capabilities"],
    [allowed.requiredDropCapabilities.some((name) => !drop.includes(name)), "capabilities that are not dropped"],
    [ports.some(({ hostPort }) => pod.hostNetwork || hostPort) && !allowed.allowHostPorts, "host ports"],
    [allowed.runAsUser.type === "MustRunAsRange" && user !== undefined, "user"],
    [allowed.runAsUser.type === "MustRunAs" && user !== allowed.runAsUser.uid, "user"],
    // It is given the level of its namespace, and no type of its own.
    [(own.seLinuxOptions !== undefined || privileged) && allowed.seLinuxContext.type === "MustRunAs", "SELinux type"],
    [seccomp?.type !== "RuntimeDefault" || !allowed.seccompProfiles.includes("runtime/default"), "seccomp profile"],
  ];
  return faults.flatMap(([isFault, what]) => (isFault ? [what] : []));
}

/** The same constraints with one right less each, by what is missing. */
export function tightened(constraints: Constraints): [string, Constraints][] {
  const without = (key: "allowedCapabilities" | "volumes" | "seccompProfiles"): [string, Constraints][] =>
    constraints[key].map((one) => [
      `${key} ${one}`,
      { ...constraints, [key]: constraints[key].filter((other) => other !== one) },
    ]);
  const flags = Object.entries(constraints).flatMap(([key, value]): [string, Constraints][] =>
    key.startsWith("allow") && value === true ? [[key, { ...constraints, [key]: false }]] : [],
  );
  const stricter: readonly [boolean, string, Partial<Constraints>][] = [
    [!constraints.readOnlyRootFilesystem, "readOnlyRootFilesystem", { readOnlyRootFilesystem: true }],
    [
      constraints.requiredDropCapabilities.length === 0,
      "requiredDropCapabilities",
      { requiredDropCapabilities: ["ALL"] },
    ],
    [constraints.runAsUser.type === "MustRunAs", "runAsUser", { runAsUser: { type: "MustRunAsRange" } }],
    [constraints.seLinuxContext.type === "RunAsAny", "seLinuxContext", { seLinuxContext: { type: "MustRunAs" } }],
  ];
  return [
    ...flags,
    ...without("allowedCapabilities"),
    ...without("volumes"),
    ...without("seccompProfiles"),
    ...stricter.flatMap(([applies, what, more]): [string, Constraints][] =>
      applies ? [[what, { ...constraints, ...more }]] : [],
    ),
  ];
}
