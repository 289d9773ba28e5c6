/**
 * Part of linuxBridge: the webhook that makes pods request the bridges they need. It has its own Deployment, because the
 * MAC pool may be off while linuxBridge is on.
 */

import {
  DEFAULT_NETWORK_ANNOTATION,
  INJECTION_WEBHOOK,
  LINUX_BRIDGE_WEBHOOK,
  METRICS_PORT,
  METRICS_PORT_NAME,
  NAD_GROUP,
  NAMESPACE_NAME_LABEL,
  NETWORKS_ANNOTATION,
  SYSTEM_NAMESPACE,
} from "../../api/names.ts";
import { INJECT_RESOURCES_PATH } from "../../api/webhook-paths.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { replicasFor } from "../facts.ts";
import { ASK_WHO_MAY, FOLLOW, FOLLOW_CONFIG, holdLease, identityObjects, READ, rule } from "../manifests/rbac.ts";
import { disruptionBudget, service, tlsSecret } from "../manifests/webhook-service.ts";
import { CLUSTER_CLIENT, deployment, env, OWN_POD } from "../manifests/workload.ts";
import { certificateIntervals, type RenderInput } from "./component.ts";

const CA_SECRET = `${LINUX_BRIDGE_WEBHOOK}-ca`;
export const WEBHOOK_PORT = 8000;
const HEALTH_PORT = 8081;
const LABELS = { app: LINUX_BRIDGE_WEBHOOK };
export const WEBHOOK_SELECTOR = { name: LINUX_BRIDGE_WEBHOOK };

export function linuxBridgeWebhookObjects({ spec, facts, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const replicas = replicasFor(facts);
  return [
    identity(namespace),
    tlsSecret(LINUX_BRIDGE_WEBHOOK, namespace, LABELS),
    tlsSecret(CA_SECRET, namespace, LABELS),
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
            CA_SECRET,
            SERVICE_NAME: LINUX_BRIDGE_WEBHOOK,
            WEBHOOK_CONFIGURATIONS: `Mutating/${LINUX_BRIDGE_WEBHOOK}`,
            ...certificateIntervals(spec),
          }),
        ],
        ports: { webhook: WEBHOOK_PORT, [METRICS_PORT_NAME]: METRICS_PORT, health: HEALTH_PORT },
        healthPort: HEALTH_PORT,
        memory: "64Mi",
        serviceAccount: LINUX_BRIDGE_WEBHOOK,
        priorityClass: "system-cluster-critical",
        placement: spec.placementConfiguration.infra,
      },
    }),
    webhookConfiguration(namespace),
  ].flat();
}

function identity(namespace: string): KubeObject[] {
  const secrets = [LINUX_BRIDGE_WEBHOOK, CA_SECRET];
  return identityObjects({
    serviceAccount: LINUX_BRIDGE_WEBHOOK,
    namespace,
    labels: LABELS,
    cluster: {
      role: LINUX_BRIDGE_WEBHOOK,
      binding: LINUX_BRIDGE_WEBHOOK,
      rules: [
        rule(NAD_GROUP, ["network-attachment-definitions"], READ),
        FOLLOW_CONFIG,
        ...ASK_WHO_MAY,
        rule(
          "admissionregistration.k8s.io",
          ["mutatingwebhookconfigurations"],
          [...FOLLOW, "patch"],
          [LINUX_BRIDGE_WEBHOOK],
        ),
      ],
    },
    namespaced: [rule("", ["secrets"], [...FOLLOW, "patch"], secrets), holdLease(LINUX_BRIDGE_WEBHOOK)],
  });
}

/** The leader among the replicas writes the caBundle. Pods without networks never reach this webhook. */
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
