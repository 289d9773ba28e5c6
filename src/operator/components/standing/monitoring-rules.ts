/**
 * Recording rules and alerts. The first PrometheusRule is that of Cluster Network Addons Operator, whose alerts have runbooks
 * at an address of KubeVirt's; the second has alerts of our own, which docs/reference/runbooks.md describes.
 */

import { parseGoDuration } from "../../../api/go-duration.ts";
import { apiVersionOf, PROMETHEUS_RULES } from "../../../api/kinds.ts";
import {
  INJECTION_WEBHOOK,
  MAC_POOL_MANAGER,
  MAC_POOL_MONITORED,
  OPERATOR_NAME,
  POD_WEBHOOK,
  VM_WEBHOOK,
  VMI_START_WEBHOOK,
  VMI_WEBHOOK,
} from "../../../api/names.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import type { EffectiveSpec } from "../../config/effective-spec.ts";
import { DEFAULT_RUNBOOK_URL_TEMPLATE, type MonitoringSettings } from "../../config/settings.ts";
import type { RenderInput } from "../component.ts";

const WEBHOOKS = [POD_WEBHOOK, VM_WEBHOOK, VMI_WEBHOOK, VMI_START_WEBHOOK, INJECTION_WEBHOOK];
/** Part of a pool's addresses that is free when somebody should add a range. */
const NEARLY_FULL = 0.1;

interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: "warning" | "critical";
  readonly summary: string;
  readonly description?: string;
}

export function ruleObjects({ spec, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const rules = (alerts: readonly Alert[]) => alerts.map((alert) => alertRule(alert, settings.monitoring));
  return [
    prometheusRule(`prometheus-rules-${OPERATOR_NAME}`, namespace, {
      "recordingRules.rules": recordingRules(namespace),
      "alerts.rules": rules([...upstreamAlerts(namespace), COLLISIONS]),
    }),
    // The same alert once more, for monitoring that finds KubeMacPool's own rules.
    ...(spec.kubeMacPool === undefined
      ? []
      : [
          prometheusRule(
            "kubemacpool-prometheus-rule",
            namespace,
            { "alerts.rules": rules([COLLISIONS]) },
            { ...MAC_POOL_MONITORED, "openshift.io/prometheus-rule-evaluation-scope": "leaf-prometheus" },
          ),
        ]),
    prometheusRule(`${OPERATOR_NAME}-health`, namespace, { "health.rules": rules(ownAlerts(namespace, spec)) }),
  ];
}

/** The names without colons are older, and still asked for. */
function recordingRules(namespace: string) {
  const up = (pods: string) => `sum(up{namespace='${namespace}', pod=~'${pods}-.*'} or vector(0))`;
  const deployed = `sum(kubevirt_cnao_cr_kubemacpool_deployed{namespace='${namespace}'} or vector(0))`;
  return [
    { record: "cluster:kubevirt_cnao_operator_up:sum", expr: up(OPERATOR_NAME) },
    { record: "kubevirt_cnao_operator_up", expr: up(OPERATOR_NAME) },
    { record: "cluster:kubevirt_cnao_kubemacpool_manager_up:sum", expr: up(MAC_POOL_MANAGER) },
    { record: "kubevirt_cnao_kubemacpool_manager_up", expr: up(MAC_POOL_MANAGER) },
    { record: "cluster:kubevirt_cnao_cr_kubemacpool_deployed:sum", expr: deployed },
    { record: "kubevirt_cnao_cr_kubemacpool_aggregated", expr: deployed },
  ];
}

const COLLISIONS: Alert = {
  name: "KubemacpoolMACCollisionDetected",
  expr: "count(kmp_mac_collisions > 1) > 0",
  for: "30s",
  severity: "warning",
  summary: "{{ $value }} MAC addresses are in use by more than one running object.",
};

function upstreamAlerts(namespace: string): Alert[] {
  return [
    {
      name: "CnaoDown",
      expr: "cluster:kubevirt_cnao_operator_up:sum == 0",
      for: "5m",
      severity: "warning",
      summary: "The network addons operator is down: nothing is repaired, and changes of the configuration wait.",
    },
    {
      name: "NetworkAddonsConfigNotReady",
      expr: `sum(kubevirt_cnao_cr_ready{namespace='${namespace}'} or vector(0)) == 0`,
      for: "5m",
      severity: "warning",
      summary: "The NetworkAddonsConfig is not available: a network addon is missing or does not work.",
    },
    {
      name: "KubemacpoolDown",
      // Each replica of an operator says so, but there is one pool.
      expr: `max(kubevirt_cnao_cr_kubemacpool_deployed{namespace='${namespace}'} or vector(0)) == 1 and cluster:kubevirt_cnao_kubemacpool_manager_up:sum == 0`,
      for: "5m",
      severity: "critical",
      summary: "The MAC pool is deployed and no replica runs: VMs with network interfaces can't be created.",
    },
  ];
}

function ownAlerts(namespace: string, spec: EffectiveSpec): Alert[] {
  const ours = `namespace='${namespace}'`;
  const renewalMissedSeconds = longestOverdueSeconds(spec);
  const webhooks = `name=~'${WEBHOOKS.join("|")}'`;
  return [
    {
      name: "KubemacpoolMACSeenElsewhere",
      expr: `max(kubevirt_macpool_seen_elsewhere{${ours}}) > 0`,
      for: "1m",
      severity: "warning",
      summary: "{{ $value }} MAC addresses of running VMs or pods are used outside of the cluster too.",
      description: "Events with the reason MACSeenElsewhere name VM, node, uplink and VLAN.",
    },
    {
      name: "KubemacpoolNearlyFull",
      expr: `max by (pool) (kubevirt_macpool_free{${ours}}) / (max by (pool) (kubevirt_macpool_capacity{${ours}}) > 0) < ${NEARLY_FULL}`,
      for: "5m",
      severity: "warning",
      summary: "MACPool {{ $labels.pool }} has {{ $value | humanizePercentage }} of its addresses left.",
      description: "Add a range before it is full: then VMs and pods that need an address are refused.",
    },
    {
      name: "NetworkAddonsWebhookFailing",
      expr: `sum by (name) (increase(apiserver_admission_webhook_rejection_count{${webhooks}, error_type='calling_webhook_error'}[10m]) or increase(apiserver_admission_webhook_fail_open_count{${webhooks}}[10m])) > 0`,
      for: "5m",
      severity: "critical",
      summary: "API servers fail to call the webhook {{ $labels.name }}.",
      description: "The objects that it is for are refused, or admitted without what it adds. See the log of its pods.",
    },
    {
      name: "KubemacpoolUnavailable",
      expr: `sum by (reason) (increase(kubevirt_macpool_denials_total{${ours}, reason=~'MACPOOL_BUSY|MACPOOL_UNAVAILABLE'}[10m])) > 0`,
      for: "5m",
      severity: "critical",
      summary: "The MAC pool refuses requests that it could not decide ({{ $labels.reason }}).",
      description: "It has no answer from the API server in time, or too much to do. See the log of its pods.",
    },
    {
      name: "NetworkAddonsCertificateExpiring",
      expr: `min by (secret) (cert_manager_certificate_not_after_seconds{${ours}}) - time() < ${renewalMissedSeconds} or min by (pod) (kubevirt_macpool_certificate_not_after_seconds{${ours}}) - time() < ${renewalMissedSeconds}`,
      for: "1m",
      severity: "critical",
      summary: "A certificate of the webhooks ends in {{ $value | humanizeDuration }} and was not renewed.",
      description:
        "When it has expired, API servers can't call the webhook. See the log of the operator, or of kubemacpool-cert-manager.",
    },
    {
      name: "LinuxBridgeLeftoversGrowing",
      expr: `max by (instance) (linux_bridge_leftovers{${ours}}) > max by (instance) (linux_bridge_leftovers{${ours}} offset 1h)`,
      for: "15m",
      severity: "warning",
      summary: "Attachments whose containers are gone pile up on a node and can't be removed: {{ $value }} now.",
      description: "They hold interfaces and addresses. The log of the node's CNI installer says why they stay.",
    },
  ];
}

/** A renewal is due when an overlap is left, so half of it is too little. A CA's end limits what it signs. */
function longestOverdueSeconds({ selfSignConfiguration: { caOverlapInterval, certOverlapInterval } }: EffectiveSpec) {
  const overlapsMs = [caOverlapInterval, certOverlapInterval].map((text) => {
    const parsed = parseGoDuration(text);
    if (!parsed.ok) throw new Error(parsed.reason);
    return parsed.durationMs;
  });
  return Math.round(Math.min(...overlapsMs) / 2_000);
}

function alertRule(alert: Alert, { runbookUrlTemplate }: MonitoringSettings) {
  const { name, expr, severity, summary, description } = alert;
  // Alerts with a description are ours: KubeVirt has no page about them.
  const hasRunbook = description === undefined || runbookUrlTemplate !== DEFAULT_RUNBOOK_URL_TEMPLATE;
  return {
    alert: name,
    expr,
    for: alert.for,
    labels: {
      severity,
      operator_health_impact: severity,
      kubernetes_operator_part_of: "kubevirt",
      kubernetes_operator_component: OPERATOR_NAME,
    },
    annotations: {
      summary,
      ...(description === undefined ? {} : { description }),
      ...(hasRunbook ? { runbook_url: runbookUrlTemplate.replace("%s", name) } : {}),
    },
  };
}

function prometheusRule(
  name: string,
  namespace: string,
  groups: Readonly<Record<string, readonly object[]>>,
  labels?: Readonly<Record<string, string>>,
): KubeObject {
  return {
    apiVersion: apiVersionOf(PROMETHEUS_RULES),
    kind: PROMETHEUS_RULES.kind,
    metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
    spec: { groups: Object.entries(groups).map(([group, rules]) => ({ name: group, rules })) },
  };
}
