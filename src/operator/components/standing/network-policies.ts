/**
 * Network policies under the names of Cluster Network Addons Operator. They allow what each pod needs, so that the components
 * work in a namespace where everything else is denied. Webhooks are open to every source, because API servers call from
 * addresses that depend on the cluster's network.
 */

import {
  LABEL_MANAGED_BY,
  LABEL_NEEDS_CLUSTER_SERVICES,
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_CERT_MANAGER,
  MAC_POOL_HTTPS_PORT,
  MAC_POOL_INSPECTION_PORT,
  MAC_POOL_SELECTOR,
  MANAGED_BY,
  METRICS_PORT,
  OPERATOR_NAME,
} from "../../../api/names.ts";
import type { NetworkPolicy } from "../../../kube/client/built-in-kinds.ts";
import type { Component, RenderInput } from "../component.ts";
import { MAC_POOL_CERTIFICATES } from "../kube-mac-pool-access.ts";
import { DNS_PORT, SECONDARY_DNS, SECONDARY_DNS_LABELS } from "../kube-secondary-dns.ts";
import { IPAM_SELECTOR, IPAM_WEBHOOK_PORT } from "../kubevirt-ipam-controller.ts";
import { WEBHOOK_PORT, WEBHOOK_SELECTOR } from "../linux-bridge-webhook.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;
type EgressRule = NonNullable<Spec["egress"]>[number];
type Labels = Readonly<Record<string, string>>;

/** Other products' pods may have the label too, and need more than ours. */
const OUR_CLIENTS = {
  matchLabels: { [LABEL_MANAGED_BY]: MANAGED_BY },
  matchExpressions: [{ key: LABEL_NEEDS_CLUSTER_SERVICES, operator: "Exists" }],
};

const OPERATOR: Labels = { name: OPERATOR_NAME };
const BOTH_PROTOCOLS = ["TCP", "UDP"];
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
    return [
      ...clusterServices(input),
      allowed("cnao-allow-ingress-to-metrics-endpoint", OPERATOR, METRICS_PORT),
      ...(spec.kubeMacPool === undefined
        ? []
        : [
            allowed("kubemacpool-allow-ingress-to-webhook", MAC_POOL_SELECTOR, MAC_POOL_HTTPS_PORT),
            allowed("kubemacpool-allow-ingress-to-metrics-endpoint", MAC_POOL_SELECTOR, METRICS_PORT),
            allowed(
              `${MAC_POOL_CERT_MANAGER}-allow-ingress-to-metrics-endpoint`,
              MAC_POOL_CERTIFICATES.podLabels,
              METRICS_PORT,
            ),
            toReplicas(settings.operandNamespace),
          ]),
      ...(spec.linuxBridge === undefined
        ? []
        : [
            allowed(`${LINUX_BRIDGE_WEBHOOK}-allow-ingress-to-webhook`, WEBHOOK_SELECTOR, WEBHOOK_PORT),
            allowed(`${LINUX_BRIDGE_WEBHOOK}-allow-ingress-to-metrics-endpoint`, WEBHOOK_SELECTOR, METRICS_PORT),
          ]),
      ...(spec.kubeSecondaryDNS === undefined
        ? []
        : [
            ingress(
              settings.operandNamespace,
              `${SECONDARY_DNS}-allow-ingress-to-dns`,
              SECONDARY_DNS_LABELS,
              DNS_PORT,
              BOTH_PROTOCOLS,
            ),
          ]),
      ...(spec.kubevirtIpamController === undefined
        ? []
        : [allowed("kubevirt-ipam-controller-allow-ingress-to-ipam-ext-webhook", IPAM_SELECTOR, IPAM_WEBHOOK_PORT)]),
    ];
  },
};

/**
 * Inspection asks the other replicas for what only they know. Only pods that may also reach the API server are meant: those of
 * a release without policies lack the label, and an egress policy for one port would deny them everything else.
 */
function toReplicas(namespace: string): NetworkPolicy {
  const { matchLabels, matchExpressions } = OUR_CLIENTS;
  return policy(namespace, "kubemacpool-allow-egress-to-replicas", {
    podSelector: { matchLabels: { ...matchLabels, ...MAC_POOL_SELECTOR }, matchExpressions },
    policyTypes: ["Egress"],
    egress: [
      {
        to: [{ podSelector: { matchLabels: MAC_POOL_SELECTOR } }],
        ports: [{ protocol: "TCP", port: MAC_POOL_INSPECTION_PORT }],
      },
    ],
  });
}

/** Each denies what none allows, so there is none while the API servers' ports are not known. */
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
    ports: BOTH_PROTOCOLS.map((protocol) => ({ protocol, port })),
  };
  const toApi: EgressRule = { ports: facts.apiServerPorts.map((number) => ({ protocol: "TCP", port: number })) };
  const egress = (name: string, podSelector: Spec["podSelector"], ...rules: EgressRule[]): NetworkPolicy =>
    policy(settings.operandNamespace, name, { podSelector, policyTypes: ["Egress"], egress: rules });
  return [
    egress("cnao-allow-egress-to-cluster-api", OUR_CLIENTS, toApi),
    egress("cnao-allow-egress-to-cluster-dns", OUR_CLIENTS, toDns),
    // Nobody manages the operator itself.
    egress("cnao-allow-egress-of-operator", { matchLabels: OPERATOR }, toApi, toDns),
  ];
}

function ingress(
  namespace: string,
  name: string,
  pods: Labels,
  port: number,
  protocols: readonly string[] = ["TCP"],
): NetworkPolicy {
  return policy(namespace, name, {
    podSelector: { matchLabels: pods },
    policyTypes: ["Ingress"],
    ingress: [{ ports: protocols.map((protocol) => ({ protocol, port })) }],
  });
}

function policy(namespace: string, name: string, spec: Spec): NetworkPolicy {
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name, namespace }, spec };
}
