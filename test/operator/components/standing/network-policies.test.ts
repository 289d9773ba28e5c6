import { describe, expect, it } from "vitest";
import {
  DEFAULT_NAMESPACE,
  LABEL_MANAGED_BY,
  LABEL_NEEDS_CLUSTER_SERVICES,
  MAC_POOL_INSPECTION_PORT,
  MAC_POOL_SELECTOR,
  MANAGED_BY,
  OPERATOR_NAME,
} from "../../../../src/api/names.ts";
import type { DaemonSet, Deployment, NetworkPolicy } from "../../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { renderEverything } from "../../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../../src/operator/config/settings.ts";
import { release } from "../../../../src/operator/release.ts";
import { EVERY_FACT } from "../../../../src/operator/watch/facts.ts";

const [API_PORT] = EVERY_FACT.apiServerPorts;
const components = renderEverything(DEFAULT_SETTINGS);
const policies = components.filter(({ kind }) => kind === "NetworkPolicy") as NetworkPolicy[];

type Labels = Readonly<Record<string, string>>;
type Selector = NonNullable<NetworkPolicy["spec"]>["podSelector"];
type Container = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>["containers"][number];

/** Pods on a network of their own. */
const pods = [
  ...podsOf(components, { [LABEL_MANAGED_BY]: MANAGED_BY }),
  ...podsOf(release("image", DEFAULT_NAMESPACE).operator, {}),
];

function podsOf(objects: readonly KubeObject[], added: Labels) {
  const workloads = objects.filter(({ kind }) => kind === "Deployment" || kind === "DaemonSet");
  return (workloads as (Deployment | DaemonSet)[]).flatMap(({ metadata, spec }) => {
    const { metadata: template, spec: pod } = spec?.template ?? {};
    if (pod === undefined || pod.hostNetwork === true) return [];
    return [{ name: metadata.name ?? "", labels: { ...template?.labels, ...added }, containers: pod.containers }];
  });
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector = {}, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator }) => operator === "Exists" && labels[key] !== undefined)
  );
}

/** Ports that the kubelet asks: it reaches its pods whatever a policy says. */
function probed({ readinessProbe, livenessProbe, ports = [] }: Container): unknown[] {
  return [readinessProbe, livenessProbe].flatMap((probe) => {
    const port = probe?.httpGet?.port;
    return [port, ports.find(({ name }) => name === port)?.containerPort];
  });
}

const accepted = (labels: Labels): string[] =>
  policies
    .filter(({ spec }) => spec?.policyTypes?.includes("Ingress") && selects(spec.podSelector, labels))
    .flatMap(({ spec }) => spec?.ingress?.flatMap(({ ports = [] }) => ports) ?? [])
    .map(({ protocol, port }) => `${protocol} ${port}`);

describe("the NetworkPolicies", () => {
  it.each(pods)("let others reach every port of $name that is not the kubelet's alone", ({ labels, containers }) => {
    const served = containers.flatMap((container) =>
      (container.ports ?? [])
        .filter(({ containerPort }) => !probed(container).includes(containerPort))
        .map(({ protocol, containerPort }) => `${protocol} ${containerPort}`),
    );
    expect(accepted(labels)).toEqual(expect.arrayContaining(served));
  });

  it.each(pods)("let $name reach the API servers and DNS", ({ labels }) => {
    const opened = policies
      .filter(({ spec }) => spec?.policyTypes?.includes("Egress") && selects(spec.podSelector, labels))
      .flatMap(({ spec }) => spec?.egress?.flatMap(({ ports = [] }) => ports) ?? [])
      .map(({ port }) => port);
    expect(opened).toEqual(expect.arrayContaining([API_PORT, 53]));
  });

  const operands = pods.filter(({ name }) => name !== OPERATOR_NAME);
  it.each(operands)("close nothing to $name of a release that knew no policies", ({ labels }) => {
    const { [LABEL_NEEDS_CLUSTER_SERVICES]: _, ...unlabelled } = labels;
    const closing = policies.filter(({ spec }) => spec?.egress !== undefined && selects(spec.podSelector, unlabelled));
    expect(closing).toEqual([]);
  });

  it("let each replica of the pool ask the others", () => {
    const replica = { ...MAC_POOL_SELECTOR, [LABEL_MANAGED_BY]: MANAGED_BY, [LABEL_NEEDS_CLUSTER_SERVICES]: "true" };
    const ofReplicas = policies.flatMap(({ spec }) =>
      selects(spec?.podSelector, replica) ? (spec?.egress ?? []) : [],
    );
    const toReplicas = ofReplicas.filter(({ to = [] }) =>
      to.some(({ podSelector }) => podSelector && selects(podSelector, MAC_POOL_SELECTOR)),
    );
    expect(toReplicas.flatMap(({ ports }) => ports)).toEqual([{ protocol: "TCP", port: MAC_POOL_INSPECTION_PORT }]);
  });

  it("open no port that no pod has", () => {
    const served = new Set(
      pods.flatMap(({ containers }) => containers.flatMap(({ ports = [] }) => ports)).map((each) => each.containerPort),
    );
    const opened = policies.flatMap(({ spec }) => spec?.ingress?.flatMap(({ ports = [] }) => ports) ?? []);
    expect(opened.filter(({ port }) => !served.has(port as number))).toEqual([]);
  });
});
