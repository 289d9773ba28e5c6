/**
 * Network policies under the names of Cluster Network Addons Operator. They allow what each pod needs, so that the components
 * work in a namespace where everything else is denied. Webhooks are open to every source, because API servers call from
 * addresses that depend on the cluster's network.
 */

import {
  LABEL_MANAGED_BY,
  LABEL_NEEDS_CLUSTER_SERVICES,
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_HTTPS_PORT,
  MANAGED_BY,
  METRICS_PORT,
  OPERATOR_NAME,
} from "../../api/names.ts";
import type { NetworkPolicy } from "../../kube/client/built-in-kinds.ts";
import type { KeptCertificates } from "./cert-manager.ts";
import type { Component, RenderInput } from "./component.ts";
import { MANAGER_SELECTOR } from "./kube-mac-pool.ts";
import { MAC_POOL_CERTIFICATES } from "./kube-mac-pool-access.ts";
import { LINUX_BRIDGE_CERTIFICATES, WEBHOOK_PORT, WEBHOOK_SELECTOR } from "./linux-bridge-webhook.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;
type EgressRule = NonNullable<Spec["egress"]>[number];
type Labels = Readonly<Record<string, string>>;

/** Other products' pods may have the label too, and need more than ours. */
const OUR_CLIENTS: Spec["podSelector"] = {
  matchLabels: { [LABEL_MANAGED_BY]: MANAGED_BY },
  matchExpressions: [{ key: LABEL_NEEDS_CLUSTER_SERVICES, operator: "Exists" }],
};

const DNS = { namespace: "kube-system", pods: { "k8s-app": "kube-dns" }, port: 53 };
const OPENSHIFT_DNS = {
  namespace: "openshift-dns",
  pods: { "dns.operator.openshift.io/daemonset-dns": "default" },
  port: 5353,
};

export const networkPolicies: Component = {
  name: "networkPolicies",
  standing: true,
  render: (input) => {
    const { spec, settings } = input;
    const allowed = (name: string, pods: Labels, port: number) => ingress(settings.operandNamespace, name, pods, port);
    const metricsOf = ({ name, podLabels }: KeptCertificates) =>
      allowed(`${name}-allow-ingress-to-metrics-endpoint`, podLabels, METRICS_PORT);
    return [
      ...clusterServices(input),
      allowed("cnao-allow-ingress-to-metrics-endpoint", { name: OPERATOR_NAME }, METRICS_PORT),
      ...(spec.kubeMacPool === undefined
        ? []
        : [
            allowed("kubemacpool-allow-ingress-to-webhook", MANAGER_SELECTOR, MAC_POOL_HTTPS_PORT),
            allowed("kubemacpool-allow-ingress-to-metrics-endpoint", MANAGER_SELECTOR, METRICS_PORT),
            metricsOf(MAC_POOL_CERTIFICATES),
          ]),
      ...(spec.linuxBridge === undefined
        ? []
        : [
            allowed(`${LINUX_BRIDGE_WEBHOOK}-allow-ingress-to-webhook`, WEBHOOK_SELECTOR, WEBHOOK_PORT),
            allowed(`${LINUX_BRIDGE_WEBHOOK}-allow-ingress-to-metrics-endpoint`, WEBHOOK_SELECTOR, METRICS_PORT),
            metricsOf(LINUX_BRIDGE_CERTIFICATES),
          ]),
    ];
  },
};

/** Each of the two denies what neither allows, so there is none while the API servers' ports are not known. */
function clusterServices({ facts, settings }: RenderInput): NetworkPolicy[] {
  if (facts.apiServerPorts.length === 0) return [];
  const { namespace, pods, port } = facts.openShift ? OPENSHIFT_DNS : DNS;
  const toDns: EgressRule = {
    to: [
      {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        podSelector: { matchLabels: pods },
      },
    ],
    ports: [
      { protocol: "TCP", port },
      { protocol: "UDP", port },
    ],
  };
  const toApi: EgressRule = { ports: facts.apiServerPorts.map((number) => ({ protocol: "TCP", port: number })) };
  const egress = (name: string, rule: EgressRule): NetworkPolicy =>
    policy(settings.operandNamespace, name, { podSelector: OUR_CLIENTS, policyTypes: ["Egress"], egress: [rule] });
  return [egress("cnao-allow-egress-to-cluster-api", toApi), egress("cnao-allow-egress-to-cluster-dns", toDns)];
}

function ingress(namespace: string, name: string, pods: Labels, port: number): NetworkPolicy {
  return policy(namespace, name, {
    podSelector: { matchLabels: pods },
    policyTypes: ["Ingress"],
    ingress: [{ ports: [{ protocol: "TCP", port }] }],
  });
}

function policy(namespace: string, name: string, spec: Spec): NetworkPolicy {
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name, namespace }, spec };
}
