/** kubeMacPool: the MAC pool's manager, its cert manager, the pool `default`. */

import { MAC_CLAIM_CRD, MAC_POOL_CRD, NODE_MACS_CRD } from "../../api/crds.ts";
import { MANAGER_NODE_FLAGS } from "../../api/image.ts";
import { apiVersionOf, MAC_POOLS } from "../../api/kinds.ts";
import { formatMac } from "../../api/mac.ts";
import { parseRange } from "../../api/mac-range.ts";
import {
  DEFAULT_MAC_POOL,
  MAC_POOL_CA_SECRET,
  MAC_POOL_HTTPS_PORT,
  MAC_POOL_INSPECTION_PORT,
  MAC_POOL_INSPECTION_PORT_NAME,
  MAC_POOL_MANAGER,
  MAC_POOL_METRICS_SERVICE,
  MAC_POOL_MONITORED,
  MAC_POOL_RANGE_CONFIG_MAP,
  MAC_POOL_SELECTOR,
  MAC_POOL_SERVICE,
  METRICS_PORT,
  METRICS_PORT_NAME,
} from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { PoolRange } from "../config/effective-spec.ts";
import { disruptionBudget, service, tlsSecret } from "../manifests/webhook-service.ts";
import { CLUSTER_CLIENT, deployment, env, OWN_POD } from "../manifests/workload.ts";
import { replicasFor } from "../watch/facts.ts";
import { certManagerDeployment, certManagerMetrics } from "./cert-manager.ts";
import type { Component, RenderInput } from "./component.ts";
import { MAC_POOL_CERTIFICATES, MANAGER_ACCOUNT, macPoolAccess } from "./kube-mac-pool-access.ts";
import { macPoolWebhooks } from "./kube-mac-pool-webhooks.ts";

const HEALTH_PORT = 8081;
const LABELS = { app: "kubemacpool" };
const MANAGER_LABELS = { ...LABELS, ...MAC_POOL_SELECTOR };

/** 46 MiB at rest, about 105 with 10,000 claims. No limit: a limit would kill the pool when it grows. */
const MANAGER_MEMORY = "112Mi";

export const kubeMacPool: Component = {
  name: "kubeMacPool",
  otherInstallation: ({ otherMacPool }) =>
    otherMacPool &&
    `${otherMacPool} is alive, and the API server asks that MAC pool. Scale it to zero or delete it: this one then takes over`,
  render: (input) => [
    MAC_POOL_CRD,
    MAC_CLAIM_CRD,
    NODE_MACS_CRD,
    ...macPoolAccess(input.settings.operandNamespace, LABELS),
    ...rangeObjects(input),
    ...managerObjects(input),
    certManagerDeployment(MAC_POOL_CERTIFICATES, input.settings.images.kubeMacPool, input),
    certManagerMetrics(MAC_POOL_CERTIFICATES, input.settings.operandNamespace),
    macPoolWebhooks(input.settings.operandNamespace, LABELS),
  ],
};

/** Other software reads the range from this ConfigMap, as it is written in the spec. The pool's manager reads only the MACPool. */
function rangeObjects({ spec, settings }: RenderInput): KubeObject[] {
  const range = spec.kubeMacPool;
  if (range === undefined) return [];
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: MAC_POOL_RANGE_CONFIG_MAP, namespace: settings.operandNamespace, labels: LABELS },
      data: { RANGE_START: range.rangeStart, RANGE_END: range.rangeEnd },
    },
    {
      apiVersion: apiVersionOf(MAC_POOLS),
      kind: MAC_POOLS.kind,
      metadata: { name: DEFAULT_MAC_POOL, labels: LABELS },
      spec: { ranges: [inOneNotation(range)] },
    },
  ];
}

function inOneNotation(range: PoolRange) {
  const parsed = parseRange(range);
  if (!parsed.ok) throw new Error(parsed.reason);
  return { start: formatMac(parsed.range.start), end: formatMac(parsed.range.end) };
}

function managerObjects({ spec, facts, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const replicas = replicasFor(facts);
  const selector = MAC_POOL_SELECTOR;
  return [
    tlsSecret(MAC_POOL_SERVICE, namespace, LABELS),
    tlsSecret(MAC_POOL_CA_SECRET, namespace, LABELS),
    service({
      name: MAC_POOL_SERVICE,
      namespace,
      labels: LABELS,
      selector,
      ports: [
        { name: "https", port: 443, targetPort: MAC_POOL_HTTPS_PORT },
        { name: MAC_POOL_INSPECTION_PORT_NAME, port: 8443, targetPort: MAC_POOL_INSPECTION_PORT },
      ],
    }),
    service({
      name: MAC_POOL_METRICS_SERVICE,
      namespace,
      labels: { ...MANAGER_LABELS, ...MAC_POOL_MONITORED },
      selector,
      ports: [{ name: METRICS_PORT_NAME, port: METRICS_PORT, targetPort: MAC_POOL_INSPECTION_PORT }],
    }),
    ...disruptionBudget(MAC_POOL_MANAGER, namespace, LABELS, selector, replicas),
    deployment({
      name: MAC_POOL_MANAGER,
      namespace,
      labels: MANAGER_LABELS,
      selector,
      replicas,
      podLabels: CLUSTER_CLIENT,
      pod: {
        container: "manager",
        process: "mac-pool",
        nodeFlags: MANAGER_NODE_FLAGS,
        image: settings.images.kubeMacPool,
        imagePullPolicy: spec.imagePullPolicy,
        imagePullSecrets: settings.imagePullSecrets,
        env: [
          ...OWN_POD,
          ...env({
            HTTPS_PORT: MAC_POOL_HTTPS_PORT,
            INSPECTION_PORT: MAC_POOL_INSPECTION_PORT,
            HEALTH_PORT,
            TLS_SECRET: MAC_POOL_SERVICE,
          }),
        ],
        ports: { https: MAC_POOL_HTTPS_PORT, inspection: MAC_POOL_INSPECTION_PORT, health: HEALTH_PORT },
        healthPort: HEALTH_PORT,
        isBehindService: true,
        memory: MANAGER_MEMORY,
        serviceAccount: MANAGER_ACCOUNT,
        priorityClass: "system-cluster-critical",
        placement: spec.placementConfiguration.infra,
      },
    }),
  ];
}
