/**
 * How Prometheus finds and reads the metrics, under the names of Cluster Network Addons Operator. All but the operator's
 * Service needs the Prometheus operator, and is there while that is.
 */

import { apiVersionOf, SERVICE_MONITORS } from "../../../api/kinds.ts";
import {
  LABEL_PROMETHEUS,
  MAC_POOL_MONITORED,
  MAC_POOL_SELECTOR,
  METRICS_PORT,
  METRICS_PORT_NAME,
  OPERATOR_METRICS_SERVICE,
  OPERATOR_NAME,
} from "../../../api/names.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import { grant, READ, rule } from "../../manifests/rbac.ts";
import { service } from "../../manifests/webhook-service.ts";
import type { Component, RenderInput } from "../component.ts";
import { ruleObjects } from "./monitoring-rules.ts";

type Labels = Readonly<Record<string, string>>;

const ROLE = `${OPERATOR_NAME}-monitoring`;
const MAC_POOL_ROLE = "kubemacpool-prometheus";
const METRICS_READER = `${OPERATOR_NAME}-metrics-reader`;
const USUAL_NAMESPACE = "monitoring";
const OPENSHIFT_NAMESPACE = "openshift-monitoring";
/** OpenShift's Prometheus of the cluster reads what has it. */
const CLUSTER_MONITORING = { "openshift.io/cluster-monitoring": "true" };

export const monitoring: Component = {
  name: "monitoring",
  standing: true,
  render: (input) => [
    service({
      name: OPERATOR_METRICS_SERVICE,
      namespace: input.settings.operandNamespace,
      labels: {},
      selector: { name: OPERATOR_NAME },
      ports: [{ name: METRICS_PORT_NAME, port: METRICS_PORT, targetPort: METRICS_PORT_NAME }],
    }),
    ...(input.facts.prometheusOperator ? [...access(input), ...serviceMonitors(input), ...ruleObjects(input)] : []),
  ],
};

/** Prometheus may look for the endpoints, and read from them. */
function access({ spec, settings, facts }: RenderInput): KubeObject[] {
  const { namespace = facts.openShift ? OPENSHIFT_NAMESPACE : USUAL_NAMESPACE, serviceAccount } = settings.monitoring;
  const to = { name: serviceAccount, namespace };
  const discovery = [
    rule("", ["services", "endpoints", "pods"], READ),
    rule("discovery.k8s.io", ["endpointslices"], READ),
  ];
  const namespaced = { namespace: settings.operandNamespace, rules: discovery, to };
  return [
    ...grant({ name: ROLE, ...namespaced }),
    ...(spec.kubeMacPool === undefined ? [] : grant({ name: MAC_POOL_ROLE, ...namespaced })),
    ...grant({ name: METRICS_READER, rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }], to }),
  ];
}

function serviceMonitors({ spec, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const labelled = { [LABEL_PROMETHEUS]: "true" };
  return [
    serviceMonitor(`service-monitor-${OPERATOR_NAME}`, namespace, labelled),
    // The pool's Service has a label of its own, as KubeMacPool's has.
    ...(spec.kubeMacPool === undefined
      ? []
      : [serviceMonitor("kubemacpool-metrics-monitor", namespace, MAC_POOL_SELECTOR, MAC_POOL_MONITORED)]),
  ];
}

/** For Services with these labels and a port for metrics. */
function serviceMonitor(name: string, namespace: string, services: Labels, labels: Labels = {}): KubeObject {
  return {
    apiVersion: apiVersionOf(SERVICE_MONITORS),
    kind: SERVICE_MONITORS.kind,
    metadata: { name, namespace, labels: { ...CLUSTER_MONITORING, ...labels } },
    spec: {
      selector: { matchLabels: services },
      namespaceSelector: { matchNames: [namespace] },
      endpoints: [
        {
          port: METRICS_PORT_NAME,
          scheme: "https",
          bearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
          tlsConfig: { insecureSkipVerify: true },
        },
      ],
    },
  };
}
