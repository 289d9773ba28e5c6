/**
 * What Cluster Network Addons Operator with KubeMacPool leaves behind in a cluster, from its documented objects. It creates and
 * updates, and its name among the managers is the one with which this operator applies.
 */

import { APPLIED_CONFIG_MAP, LABEL_MANAGED_BY, LABEL_VERSION, OPERATOR_NAME } from "../../../src/api/names.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";

export const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" };
/** As KubeMacPool's manifests have it; ours is shorter. */
export const POOL_SELECTOR = { "control-plane": "mac-controller-manager", "controller-tools.k8s.io": "1.0" };

type Labels = Readonly<Record<string, string>>;

const LABELS: Labels = {
  [LABEL_MANAGED_BY]: "cnao-operator",
  "app.kubernetes.io/component": "network",
  [LABEL_VERSION]: "0.102.0",
  "prometheus.cnao.io": "true",
};

/** Deployment of the operator itself. */
export function formerOperator(namespace: string): KubeObject {
  const labels = { name: OPERATOR_NAME, "prometheus.cnao.io": "true" };
  const containers = [
    { name: OPERATOR_NAME, image: "quay.invalid/cluster-network-addons-operator:v0.102.0" },
    { name: "kube-rbac-proxy", image: "kube-rbac-proxy", args: ["--secure-listen-address=:8443"] },
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: OPERATOR_NAME, namespace, labels },
    spec: {
      replicas: 1,
      strategy: { type: "Recreate" },
      selector: { matchLabels: { name: OPERATOR_NAME } },
      template: { metadata: { labels }, spec: { serviceAccountName: OPERATOR_NAME, containers } },
    },
  };
}

/** The pool's Deployment, its range and its webhooks, as they are in any namespace. */
export function formerPool(namespace: string): [Resource, KubeObject][] {
  return [
    [RESOURCES.configMaps, rangeConfig(namespace)],
    [RESOURCES.deployments, manager(namespace)],
    [RESOURCES.mutatingWebhookConfigurations, webhooks(namespace)],
  ];
}

/** Everything in the operator's own namespace, but the operator. */
export function formerObjects(namespace: string): [Resource, KubeObject][] {
  return [
    [RESOURCES.configMaps, appliedConfig(namespace)],
    [RESOURCES.serviceAccounts, { metadata: { name: "kubemacpool-sa", namespace, labels: LABELS } }],
    [RESOURCES.clusterRoles, clusterRole("kubemacpool-manager-role", "", "configmaps")],
    [RESOURCES.clusterRoleBindings, binding("kubemacpool-manager-rolebinding", "kubemacpool-manager-role", namespace)],
    [RESOURCES.serviceAccounts, { metadata: { name: "bridge-marker", namespace, labels: LABELS } }],
    [RESOURCES.clusterRoles, clusterRole("bridge-marker-cr", "", "nodes/status")],
    [RESOURCES.clusterRoleBindings, binding("bridge-marker-crb", "bridge-marker-cr", namespace)],
    [RESOURCES.services, poolService(namespace)],
    [RESOURCES.secrets, secret("kubemacpool-service", namespace)],
    [RESOURCES.secrets, secret("kubemacpool-mutator-ca", namespace)],
    [RESOURCES.leases, lease(namespace)],
    ...formerPool(namespace),
    [RESOURCES.deployments, certManager(namespace)],
    [RESOURCES.daemonSets, plugins(namespace)],
    [RESOURCES.daemonSets, marker(namespace)],
  ];
}

/** As its own client would: by requests that create, under its own name. */
export async function leave(client: KubeClient, objects: readonly (readonly [Resource, KubeObject])[]): Promise<void> {
  for (const [resource, object] of objects) await client.create(resource, object, { fieldManager: OPERATOR_NAME });
}

function appliedConfig(namespace: string): KubeObject {
  const placement = { affinity: {}, nodeSelector: { "kubernetes.io/os": "linux" } };
  const spec = {
    multus: {},
    linuxBridge: {},
    kubeMacPool: RANGE,
    nmstate: {},
    imagePullPolicy: "IfNotPresent",
    selfSignConfiguration: {
      caRotateInterval: "168h0m0s",
      caOverlapInterval: "24h0m0s",
      certRotateInterval: "24h0m0s",
      certOverlapInterval: "8h0m0s",
    },
    placementConfiguration: { infra: { affinity: {} }, workloads: placement },
  };
  const metadata = { name: APPLIED_CONFIG_MAP, namespace, labels: LABELS };
  return { metadata, data: { applied: JSON.stringify(spec) } };
}

function rangeConfig(namespace: string): KubeObject {
  const metadata = { name: "kubemacpool-mac-range-config", namespace, labels: LABELS };
  return { metadata, data: { RANGE_START: RANGE.rangeStart, RANGE_END: RANGE.rangeEnd } };
}

function manager(namespace: string): KubeObject {
  const labels = { app: "kubemacpool", ...POOL_SELECTOR };
  const containers = [
    {
      name: "manager",
      image: "kubemacpool",
      command: ["/manager"],
      args: ["--v=production", "--wait-time=300"],
      env: [{ name: "RANGE_START", value: RANGE.rangeStart }],
      volumeMounts: [{ name: "tls-key-pair", mountPath: "/tmp/k8s-webhook-server/serving-certs/", readOnly: true }],
    },
    { name: "kube-rbac-proxy", image: "kube-rbac-proxy", args: ["--secure-listen-address=:8443"] },
  ];
  const volumes = [{ name: "tls-key-pair", secret: { secretName: "kubemacpool-service" } }];
  return {
    metadata: { name: "kubemacpool-mac-controller-manager", namespace, labels: { ...LABELS, ...POOL_SELECTOR } },
    spec: {
      replicas: 1,
      strategy: { type: "Recreate" },
      selector: { matchLabels: POOL_SELECTOR },
      template: { metadata: { labels }, spec: { serviceAccountName: "kubemacpool-sa", containers, volumes } },
    },
  };
}

function certManager(namespace: string): KubeObject {
  const selector = { "control-plane": "cert-manager", "controller-tools.k8s.io": "1.0" };
  const containers = [{ name: "manager", image: "kubemacpool", command: ["/manager"], args: ["--v=production"] }];
  return {
    metadata: { name: "kubemacpool-cert-manager", namespace, labels: { ...LABELS, ...selector } },
    spec: {
      replicas: 1,
      strategy: { type: "Recreate" },
      selector: { matchLabels: selector },
      template: { metadata: { labels: { app: "kubemacpool", ...selector } }, spec: { containers } },
    },
  };
}

export function poolService(namespace: string, port: object = {}): KubeObject {
  return {
    metadata: { name: "kubemacpool-service", namespace, labels: LABELS },
    spec: {
      ports: [{ port: 443, targetPort: 8000, ...port }],
      publishNotReadyAddresses: true,
      selector: { "control-plane": "mac-controller-manager" },
    },
  };
}

function webhooks(namespace: string): KubeObject {
  const pods = { name: "mutatepods.kubemacpool.io", path: "/mutate-pods", group: "", resource: "pods" };
  const machines = {
    name: "mutatevirtualmachines.kubemacpool.io",
    path: "/mutate-virtualmachines",
    group: "kubevirt.io",
    resource: "virtualmachines",
  };
  const entries = [
    { ...pods, namespaces: { key: pods.name, operator: "In", values: ["allocate"] } },
    { ...machines, namespaces: { key: machines.name, operator: "NotIn", values: ["ignore"] } },
  ];
  return {
    metadata: { name: "kubemacpool-mutator", labels: LABELS },
    webhooks: entries.map(({ name, path, group, resource, namespaces }) => ({
      name,
      clientConfig: { caBundle: "", service: { name: "kubemacpool-service", namespace, path } },
      failurePolicy: "Fail",
      sideEffects: "NoneOnDryRun",
      admissionReviewVersions: ["v1", "v1beta1"],
      namespaceSelector: { matchExpressions: [{ key: "runlevel", operator: "NotIn", values: ["0", "1"] }, namespaces] },
      rules: [{ apiGroups: [group], apiVersions: ["*"], resources: [resource], operations: ["CREATE", "UPDATE"] }],
    })),
  };
}

function plugins(namespace: string): KubeObject {
  const name = "kube-cni-linux-bridge-plugin";
  const command = ["/bin/bash", "-ce", "cp -rf /usr/src/plugins/bin/*bridge /opt/cni/bin/; sleep infinity"];
  const volumeMounts = [{ name: "cnibin", mountPath: "/opt/cni/bin" }];
  const containers = [{ name: "cni-plugins", image: "cni-default-plugins", command, volumeMounts }];
  const volumes = [{ name: "cnibin", hostPath: { path: "/opt/cni/bin" } }];
  return daemonSet(name, namespace, { serviceAccountName: "linux-bridge", containers, volumes });
}

function marker(namespace: string): KubeObject {
  const containers = [{ name: "bridge-marker", image: "bridge-marker", args: ["-node-name", "$(NODE_NAME)"] }];
  return daemonSet("bridge-marker", namespace, { serviceAccountName: "bridge-marker", hostNetwork: true, containers });
}

function daemonSet(name: string, namespace: string, spec: object): KubeObject {
  return {
    metadata: { name, namespace, labels: LABELS },
    spec: {
      selector: { matchLabels: { name } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      template: { metadata: { labels: { tier: "node", name } }, spec },
    },
  };
}

function clusterRole(name: string, group: string, resource: string): KubeObject {
  return {
    metadata: { name, labels: LABELS },
    rules: [{ apiGroups: [group], resources: [resource], verbs: ["get", "update", "patch"] }],
  };
}

function binding(name: string, role: string, namespace: string): KubeObject {
  return {
    metadata: { name, labels: LABELS },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
  };
}

const UNUSABLE = { "tls.crt": "b2xk", "tls.key": "b2xk" };

export function secret(name: string, namespace: string, data: Labels = UNUSABLE): KubeObject {
  return { metadata: { name, namespace, labels: LABELS }, type: "kubernetes.io/tls", data };
}

function lease(namespace: string): KubeObject {
  const metadata = { name: "kubemacpool-election", namespace };
  return { metadata, spec: { holderIdentity: "gone", leaseDurationSeconds: 15 } };
}
