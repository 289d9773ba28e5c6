/**
 * Part of linuxBridge: the webhook that makes pods request the bridges they need. It has its own Deployment, because the
 * MAC pool may be off while linuxBridge is on. The operator keeps its certificates: the account that reads pods writes nothing.
 */

import { BURST_NODE_FLAGS } from "../../api/image.ts";
import {
  DEFAULT_GLOBAL_NAMESPACES,
  type InjectionSettings,
  injectionEnvironment,
} from "../../api/injection-settings.ts";
import { type NadLint, nadLintEnvironment } from "../../api/nad-lint-setting.ts";
import {
  DEFAULT_NETWORK_ANNOTATION,
  INJECTION_WEBHOOK,
  LINT_WEBHOOK,
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_GROUP,
  METRICS_PORT,
  METRICS_PORT_NAME,
  NAD_GROUP,
  NAMESPACE_NAME_LABEL,
  NETWORKS_ANNOTATION,
  SYSTEM_NAMESPACE,
} from "../../api/names.ts";
import { INJECT_RESOURCES_PATH, LINT_NETWORKS_PATH } from "../../api/webhook-paths.ts";
import type { KeptCertificates } from "../../certs/cert-manager.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { ASK_WHO_MAY, FOLLOW, FOLLOW_CONFIG, identityObjects, READ, rule } from "../manifests/rbac.ts";
import { disruptionBudget, service, tlsSecret } from "../manifests/webhook-service.ts";
import { CLUSTER_CLIENT, deployment, env, OWN_POD } from "../manifests/workload.ts";
import { replicasFor } from "../watch/facts.ts";
import type { RenderInput } from "./component.ts";

export const WEBHOOK_PORT = 8000;
const HEALTH_PORT = 8081;
const LABELS = { app: LINUX_BRIDGE_WEBHOOK };
export const WEBHOOK_SELECTOR = { name: LINUX_BRIDGE_WEBHOOK };
const NADS = "network-attachment-definitions";

/** `globalNamespaces` of the multus that OpenShift's Cluster Network Operator deploys. */
const OPENSHIFT_GLOBAL_NAMESPACES = [
  "default",
  "openshift-multus",
  "openshift-sriov-network-operator",
  "openshift-cnv",
];

export const LINUX_BRIDGE_CERTIFICATES: KeptCertificates = {
  caSecret: `${LINUX_BRIDGE_WEBHOOK}-ca`,
  servingSecret: LINUX_BRIDGE_WEBHOOK,
  serviceName: LINUX_BRIDGE_WEBHOOK,
  webhookConfigurations: [
    { kind: "Mutating", name: LINUX_BRIDGE_WEBHOOK },
    { kind: "Validating", name: LINUX_BRIDGE_WEBHOOK },
  ],
};

export function linuxBridgeWebhookObjects(input: RenderInput): KubeObject[] {
  const { spec, facts, settings } = input;
  const namespace = settings.operandNamespace;
  const replicas = replicasFor(facts);
  const lint = spec.linuxBridge?.nadLint ?? "Warn";
  return [
    identity(namespace, lint),
    tlsSecret(LINUX_BRIDGE_WEBHOOK, namespace, LABELS),
    tlsSecret(LINUX_BRIDGE_CERTIFICATES.caSecret, namespace, LABELS),
    service({
      name: LINUX_BRIDGE_WEBHOOK,
      namespace,
      labels: LABELS,
      selector: WEBHOOK_SELECTOR,
      ports: [
        { name: "webhook", port: 443, targetPort: "webhook" },
        { name: METRICS_PORT_NAME, port: METRICS_PORT, targetPort: METRICS_PORT_NAME },
      ],
    }),
    disruptionBudget(LINUX_BRIDGE_WEBHOOK, namespace, LABELS, WEBHOOK_SELECTOR, replicas),
    deployment({
      name: LINUX_BRIDGE_WEBHOOK,
      namespace,
      labels: LABELS,
      selector: WEBHOOK_SELECTOR,
      replicas,
      podLabels: CLUSTER_CLIENT,
      pod: {
        container: "webhook",
        process: "linux-bridge-webhook",
        nodeFlags: BURST_NODE_FLAGS,
        image: settings.images.linuxBridge,
        imagePullPolicy: spec.imagePullPolicy,
        imagePullSecrets: settings.imagePullSecrets,
        env: [
          ...OWN_POD,
          ...env({
            HTTPS_PORT: WEBHOOK_PORT,
            METRICS_PORT,
            HEALTH_PORT,
            TLS_SECRET: LINUX_BRIDGE_WEBHOOK,
            ...injectionEnvironment(injectionSettings(input)),
            ...nadLintEnvironment(lint),
          }),
        ],
        ports: { webhook: WEBHOOK_PORT, [METRICS_PORT_NAME]: METRICS_PORT, health: HEALTH_PORT },
        healthPort: HEALTH_PORT,
        isBehindService: true,
        memory: "40Mi",
        serviceAccount: LINUX_BRIDGE_WEBHOOK,
        priorityClass: "system-cluster-critical",
        placement: spec.placementConfiguration.infra,
      },
    }),
    webhookConfiguration(namespace),
    ...(lint === "Off" ? [] : [lintConfiguration(namespace)]),
  ].flat();
}

/** OpenShift deploys multus itself, with a configuration that nobody else can change. */
function injectionSettings({ spec, facts }: RenderInput): InjectionSettings {
  const { unusableNetworks = "Deny", namespaceIsolation = facts.openShift, globalNamespaces } = spec.linuxBridge ?? {};
  const usual = facts.openShift ? OPENSHIFT_GLOBAL_NAMESPACES : DEFAULT_GLOBAL_NAMESPACES;
  return { unusableNetworks, globalNamespaces: namespaceIsolation ? (globalNamespaces ?? usual) : undefined };
}

function identity(namespace: string, lint: NadLint): KubeObject[] {
  return identityObjects({
    serviceAccount: LINUX_BRIDGE_WEBHOOK,
    namespace,
    labels: LABELS,
    cluster: {
      role: LINUX_BRIDGE_WEBHOOK,
      binding: LINUX_BRIDGE_WEBHOOK,
      rules: [
        rule(NAD_GROUP, [NADS], READ),
        ...(lint === "Off" ? [] : [rule("", ["nodes"], FOLLOW), rule(MAC_POOL_GROUP, ["nodemacs"], FOLLOW)]),
        FOLLOW_CONFIG,
        ...ASK_WHO_MAY,
      ],
    },
    namespaced: [rule("", ["secrets"], FOLLOW, [LINUX_BRIDGE_WEBHOOK])],
  });
}

/** The operator's keeper of certificates writes the caBundle. Pods without networks never reach this webhook. */
function webhookConfiguration(namespace: string): KubeObject {
  const asksFor = (annotation: string): string =>
    `('${annotation}' in object.metadata.annotations && object.metadata.annotations['${annotation}'] != '')`;
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: LINUX_BRIDGE_WEBHOOK, labels: LABELS },
    webhooks: [
      {
        name: INJECTION_WEBHOOK,
        clientConfig: { service: { name: LINUX_BRIDGE_WEBHOOK, namespace, path: INJECT_RESOURCES_PATH, port: 443 } },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"], scope: "Namespaced" },
        ],
        matchConditions: [
          {
            name: "asks-for-networks",
            expression: `has(object.metadata.annotations) && (${asksFor(NETWORKS_ANNOTATION)} || ${asksFor(DEFAULT_NETWORK_ANNOTATION)})`,
          },
        ],
        namespaceSelector: {
          matchExpressions: [{ key: NAMESPACE_NAME_LABEL, operator: "NotIn", values: [SYSTEM_NAMESPACE, namespace] }],
        },
        failurePolicy: "Ignore",
        matchPolicy: "Equivalent",
        sideEffects: "None",
        // Another webhook may add the annotation later. The injection never counts a request twice.
        reinvocationPolicy: "IfNeeded",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
      },
    ],
  };
}

/** Not even Enforce keeps a network out while nobody answers. */
function lintConfiguration(namespace: string): KubeObject {
  const rule = { apiGroups: [NAD_GROUP], apiVersions: ["v1"], resources: [NADS], operations: ["CREATE", "UPDATE"] };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: LINUX_BRIDGE_WEBHOOK, labels: LABELS },
    webhooks: [
      {
        name: LINT_WEBHOOK,
        clientConfig: { service: { name: LINUX_BRIDGE_WEBHOOK, namespace, path: LINT_NETWORKS_PATH, port: 443 } },
        rules: [{ ...rule, scope: "Namespaced" }],
        failurePolicy: "Ignore",
        matchPolicy: "Equivalent",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 2,
      },
    ],
  };
}
