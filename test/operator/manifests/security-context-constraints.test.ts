import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { DEFAULT_IMAGE } from "../../../src/api/image.ts";
import type { DaemonSet, Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { isWorkload } from "../../../src/operator/apply/applied-kinds.ts";
import { COMPONENTS, renderEverything } from "../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { constraintsFor } from "../../../src/operator/manifests/security-context-constraints.ts";
import { release } from "../../../src/operator/release.ts";
import { EVERY_FACT, type Facts } from "../../../src/operator/watch/facts.ts";
import { nodeLayouts } from "../../../src/operator/watch/node-layout.ts";

/** How OpenShift judges a pod by SecurityContextConstraints, for the fields that pods of this product use. */

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;
type Container = PodSpec["containers"][number];

interface Constraints {
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
const RESTRICTED_V2: Constraints = {
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
function violations(workload: Deployment | DaemonSet, allowed: Constraints): string[] {
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
function tightened(constraints: Constraints): [string, Constraints][] {
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

type Workload = Deployment | DaemonSet;

const NAMESPACE = DEFAULT_SETTINGS.operandNamespace;
const render = (facts: Partial<Facts>): KubeObject[] =>
  renderEverything(DEFAULT_SETTINGS, COMPONENTS, { ...EVERY_FACT, ...facts });

const OBJECTS = render({});
const WORKLOADS = OBJECTS.filter(isWorkload) as Workload[];
const OF_CONSTRAINTS = OBJECTS.filter(({ kind }) => kind === "SecurityContextConstraints");
const NAMES = OF_CONSTRAINTS.map(({ metadata }) => metadata.name ?? "");

const accountOf = (workload: Workload): string => workload.spec?.template.spec?.serviceAccountName ?? "";
const workloadOf = (account: string): Workload => {
  const [found, ...others] = WORKLOADS.filter((workload) => accountOf(workload) === account);
  if (found === undefined || others.length > 0) throw new Error(`${others.length + 1} workloads of ${account}`);
  return found;
};
const constraintsOf = (name: string): Constraints =>
  OF_CONSTRAINTS.find(({ metadata }) => metadata.name === name) as unknown as Constraints;
const text = (objects: readonly KubeObject[]): string =>
  objects.map((object) => stringify(object, { lineWidth: 120, aliasDuplicateObjects: false })).join("---\n");

describe("where the API server knows SecurityContextConstraints", () => {
  it("each account whose pods need their node has its own", () => {
    expect(NAMES.sort()).toEqual([
      "bridge-marker",
      "dynamic-networks-controller",
      "linux-bridge",
      "macvtap-cni",
      "multus",
      "ovs-cni-marker",
    ]);
  });

  it.each(NAMES)("%s admits the pods of its account, and would not with one right less", (name) => {
    const workload = workloadOf(name);
    expect(violations(workload, RESTRICTED_V2)).not.toEqual([]);
    expect(violations(workload, constraintsOf(name))).toEqual([]);
    const idle = tightened(constraintsOf(name)).filter(([, less]) => violations(workload, less).length === 0);
    expect(idle.map(([what]) => what)).toEqual([]);
  });

  it("all other pods, and the operator's, get along with what every account may use", () => {
    const others = WORKLOADS.filter((workload) => !NAMES.includes(accountOf(workload)));
    const operator = release(DEFAULT_IMAGE).operator.filter(isWorkload) as Workload[];
    expect(others.length).toBeGreaterThan(4);
    expect(operator).toHaveLength(1);
    for (const workload of [...others, ...operator]) {
      expect([workload.metadata.name, ...violations(workload, RESTRICTED_V2)]).toEqual([workload.metadata.name]);
    }
  });

  it("a pod on the node's network without a port gets no port", () => {
    const metadata = { name: "quiet", namespace: NAMESPACE };
    const spec = { hostNetwork: true, serviceAccountName: "quiet", containers: [{ name: "c" }] };
    const [constraints] = constraintsFor([{ kind: "DaemonSet", metadata, spec: { template: { spec } } }]);
    expect(constraints).toMatchObject({ metadata: { name: "quiet" }, allowHostNetwork: true, allowHostPorts: false });
  });

  it.each(NAMES)("%s is for one account in one namespace, by a role", (name) => {
    const constraints = OF_CONSTRAINTS.find(({ metadata }) => metadata.name === name);
    expect(constraints).toMatchObject({ users: [], groups: [] });
    const rule = { apiGroups: ["security.openshift.io"], resources: ["securitycontextconstraints"], verbs: ["use"] };
    const roles = OBJECTS.filter(({ rules }) => JSON.stringify(rules ?? "").includes(`"use"`));
    const role = roles.find(({ metadata }) => metadata.name === `${name}-scc`);
    expect(role).toMatchObject({
      kind: "Role",
      metadata: { namespace: NAMESPACE },
      rules: [{ ...rule, resourceNames: [name] }],
    });
    expect(roles).toHaveLength(NAMES.length);
    const bindings = OBJECTS.filter(
      ({ roleRef }) => (roleRef as { name?: string } | undefined)?.name === `${name}-scc`,
    );
    expect(bindings).toMatchObject([
      {
        kind: "RoleBinding",
        metadata: { namespace: NAMESPACE },
        roleRef: { kind: "Role" },
        subjects: [{ kind: "ServiceAccount", name, namespace: NAMESPACE }],
      },
    ]);
    expect(bindings[0]?.subjects).toHaveLength(1);
  });

  it("elsewhere there are none", () => {
    const without = render({ securityContextConstraints: false });
    expect(without.filter(({ kind }) => kind === "SecurityContextConstraints")).toEqual([]);
    expect(text(without)).not.toContain("security.openshift.io");
  });

  it("they are what their golden file says", async () => {
    const plain = new Set(render({ securityContextConstraints: false }).map((object) => text([object])));
    const added = OBJECTS.filter((object) => !plain.has(text([object])));
    await expect(text(added)).toMatchFileSnapshot("../../golden/securityContextConstraints.yaml");
  });

  it("OpenShift gets what its golden file says, besides what every cluster gets", async () => {
    const plain = new Set(OBJECTS.map((object) => text([object])));
    const differs = render({ openShift: true, ...nodeLayouts([], true, {}) }).filter(
      (object) => !plain.has(text([object])),
    );
    await expect(text(differs)).toMatchFileSnapshot("../../golden/openshift.yaml");
  });
});
