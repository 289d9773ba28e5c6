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
import { type Constraints, RESTRICTED_V2, tightened, violations } from "../support/scc-admission.ts";

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
    const differs = render({ openShift: true, ...nodeLayouts([], true) }).filter(
      (object) => !plain.has(text([object])),
    );
    await expect(text(differs)).toMatchFileSnapshot("../../golden/openshift.yaml");
  });
});
