/** What others do to applied objects: edits that change what an object means, and that the operator takes back. */

import { MAC_POOLS, PROMETHEUS_RULES, SECURITY_CONTEXT_CONSTRAINTS, SERVICE_MONITORS } from "../../../src/api/kinds.ts";
import type { Resource } from "../../../src/kube/client/resource.ts";
import { defineResource, RESOURCES } from "../../../src/kube/client/resource.ts";

export type JsonPatch = readonly {
  readonly op: "add" | "remove" | "replace";
  readonly path: string;
  readonly value?: unknown;
}[];

const POD = "/spec/template/spec";
const add = (path: string, value: unknown): JsonPatch => [{ op: "add", path, value }];
const replace = (path: string, value: unknown): JsonPatch => [{ op: "replace", path, value }];
const remove = (path: string): JsonPatch => [{ op: "remove", path }];

/** Edits of a pod template that every workload is tried with. */
export const POD_EDITS: Readonly<Record<string, JsonPatch>> = {
  "a node selector": add(`${POD}/nodeSelector`, { theirs: "yes" }),
  "a second container": add(`${POD}/containers/-`, { name: "theirs", image: "theirs" }),
  "an init container": add(`${POD}/initContainers`, [{ name: "theirs", image: "theirs" }]),
  "a privileged container": replace(`${POD}/containers/0/securityContext`, { privileged: true }),
  "an image": replace(`${POD}/containers/0/image`, "theirs"),
  "a variable": add(`${POD}/containers/0/env/-`, { name: "NODE_OPTIONS", value: "--require=/theirs.js" }),
  "variables of a ConfigMap": add(`${POD}/containers/0/envFrom`, [{ configMapRef: { name: "theirs" } }]),
  "a command": add(`${POD}/containers/0/command`, ["theirs"]),
  "a limit": add(`${POD}/containers/0/resources/limits`, { memory: "1Gi" }),
  "a host namespace": add(`${POD}/hostPID`, true),
  "a mount": [
    ...add(`${POD}/volumes`, [{ name: "theirs", hostPath: { path: "/" } }]),
    ...add(`${POD}/containers/0/volumeMounts`, [{ name: "theirs", mountPath: "/theirs" }]),
  ],
  "a toleration": add(`${POD}/tolerations`, [{ operator: "Exists" }]),
  "an affinity": add(`${POD}/affinity`, {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "theirs", operator: "Exists" }] }],
      },
    },
  }),
  "a runtime class": add(`${POD}/runtimeClassName`, "theirs"),
  "a scheduler": replace(`${POD}/schedulerName`, "theirs"),
  "an account": replace(`${POD}/serviceAccountName`, "default"),
  "no grace": replace(`${POD}/terminationGracePeriodSeconds`, 0),
};

export interface Edited {
  readonly resource: Resource;
  readonly name: string;
  readonly edits: Readonly<Record<string, JsonPatch>>;
}

const WIDE_RULE = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
const RULE_OF_THEIRS = {
  apiGroups: ["theirs.example.com"],
  apiVersions: ["*"],
  resources: ["*"],
  operations: ["CREATE"],
};
const WEBHOOK_OF_THEIRS = {
  name: "theirs.example.com",
  clientConfig: { url: "https://127.0.0.1:1/" },
  sideEffects: "None",
  failurePolicy: "Ignore",
  admissionReviewVersions: ["v1"],
  rules: [RULE_OF_THEIRS],
};
const IPAM = "kubevirt-ipam-controller";
const THEIR_LABEL = replace("/metadata/labels/app.kubernetes.io~1component", "theirs");
const STRANGER = { kind: "ServiceAccount", name: "default", namespace: "default" };

export const DRIFT_EDITS: readonly Edited[] = [
  {
    resource: RESOURCES.deployments,
    name: "kubemacpool-mac-controller-manager",
    edits: { ...POD_EDITS, "a pause": add("/spec/paused", true), "no replicas": replace("/spec/replicas", 0) },
  },
  {
    resource: RESOURCES.daemonSets,
    name: "bridge-marker",
    edits: { ...POD_EDITS, "a strategy": replace("/spec/updateStrategy", { type: "OnDelete" }) },
  },
  {
    resource: RESOURCES.services,
    name: "kubemacpool-service",
    edits: {
      "a key of the selector": add("/spec/selector/theirs", "yes"),
      "another selector": replace("/spec/selector", { theirs: "yes" }),
      "a port": add("/spec/ports/-", { name: "theirs", port: 444, targetPort: 1 }),
      "a target port": replace("/spec/ports/0/targetPort", 1),
      "an external address": add("/spec/externalIPs", ["192.0.2.1"]),
      "another affinity": replace("/spec/sessionAffinity", "ClientIP"),
    },
  },
  {
    resource: RESOURCES.mutatingWebhookConfigurations,
    name: "kubemacpool-mutator",
    edits: {
      "a key of the namespace selector": add("/webhooks/0/namespaceSelector/matchLabels", { theirs: "yes" }),
      "an object selector": replace("/webhooks/0/objectSelector", { matchLabels: { theirs: "yes" } }),
      "a failure policy": replace("/webhooks/0/failurePolicy", "Ignore"),
      "a webhook": add("/webhooks/-", WEBHOOK_OF_THEIRS),
      "a missing webhook": remove("/webhooks/1"),
      "a condition": add("/webhooks/0/matchConditions/-", { name: "theirs", expression: "false" }),
      "a rule": add("/webhooks/0/rules/-", RULE_OF_THEIRS),
      "a deadline": replace("/webhooks/0/timeoutSeconds", 1),
      "another service": replace("/webhooks/0/clientConfig/service/name", "theirs"),
    },
  },
  {
    resource: RESOURCES.validatingWebhookConfigurations,
    name: "linux-bridge-webhook",
    edits: {
      "a failure policy": replace("/webhooks/0/failurePolicy", "Fail"),
      "an object selector": add("/webhooks/0/objectSelector", { matchLabels: { theirs: "yes" } }),
      "a webhook": add("/webhooks/-", WEBHOOK_OF_THEIRS),
      "a rule": add("/webhooks/0/rules/-", RULE_OF_THEIRS),
      "no webhook": replace("/webhooks", []),
    },
  },
  {
    resource: RESOURCES.clusterRoles,
    name: "bridge-marker-cr",
    edits: {
      "a rule": add("/rules/-", WIDE_RULE),
      "no rule": replace("/rules", []),
      "an aggregation": add("/aggregationRule", { clusterRoleSelectors: [{ matchLabels: { theirs: "yes" } }] }),
    },
  },
  {
    resource: RESOURCES.clusterRoleBindings,
    name: "bridge-marker-crb",
    edits: { "a subject": add("/subjects/-", STRANGER), "another subject": replace("/subjects", [STRANGER]) },
  },
  { resource: RESOURCES.roles, name: "kubemacpool-cert-manager", edits: { "a rule": add("/rules/-", WIDE_RULE) } },
  {
    resource: RESOURCES.roleBindings,
    name: "kubemacpool-cert-manager",
    edits: { "a subject": add("/subjects/-", STRANGER) },
  },
  {
    resource: RESOURCES.configMaps,
    name: "kubemacpool-mac-range-config",
    edits: { "a range": replace("/data/RANGE_START", "02:00:00:00:00:00"), "a key": add("/data/THEIRS", "yes") },
  },
  {
    resource: RESOURCES.validatingAdmissionPolicies,
    name: "bridge-marker",
    edits: {
      "a failure policy": replace("/spec/failurePolicy", "Ignore"),
      "a match condition": add("/spec/matchConditions/-", { name: "theirs", expression: "false" }),
      "a missing validation": remove("/spec/validations/0"),
      "a validation": add("/spec/validations/-", { expression: "false" }),
    },
  },
  {
    resource: RESOURCES.validatingAdmissionPolicyBindings,
    name: "bridge-marker",
    edits: {
      "a warning only": replace("/spec/validationActions", ["Warn"]),
      "an audit": add("/spec/validationActions/-", "Audit"),
      "a selector": add("/spec/matchResources", { namespaceSelector: { matchLabels: { theirs: "yes" } } }),
    },
  },
  {
    resource: RESOURCES.flowSchemas,
    name: "kubemacpool",
    edits: {
      "a precedence": replace("/spec/matchingPrecedence", 9_000),
      "a rule": add("/spec/rules/-", {
        subjects: [{ kind: "User", user: { name: "theirs" } }],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      }),
    },
  },
  {
    resource: RESOURCES.priorityLevelConfigurations,
    name: "kubemacpool",
    edits: {
      shares: replace("/spec/limited/nominalConcurrencyShares", 0),
      "a loan": add("/spec/limited/lendablePercent", 90),
    },
  },
  {
    resource: RESOURCES.podDisruptionBudgets,
    name: "kubemacpool-mac-controller-manager",
    edits: {
      "a key of the selector": add("/spec/selector/matchLabels/theirs", "yes"),
      "a policy": add("/spec/unhealthyPodEvictionPolicy", "IfHealthyBudget"),
    },
  },
  {
    resource: RESOURCES.networkPolicies,
    name: "cnao-allow-egress-to-cluster-dns",
    edits: {
      "every destination": replace("/spec/egress", [{}]),
      "no destination": replace("/spec/egress", []),
      "another direction": replace("/spec/policyTypes", ["Ingress"]),
      "a key of the selector": add("/spec/podSelector/matchLabels/theirs", "yes"),
    },
  },
  {
    resource: RESOURCES.serviceAccounts,
    name: "kubemacpool-sa",
    edits: { "a label": THEIR_LABEL, "no owner": remove("/metadata/ownerReferences") },
  },
  {
    resource: RESOURCES.secrets,
    name: "linux-bridge-webhook",
    edits: { "a label": THEIR_LABEL },
  },
  {
    resource: RESOURCES.crds,
    name: "macpools.macpool.network.kubevirt.io",
    edits: {
      "short names": replace("/spec/names/shortNames", ["theirs"]),
      "a description": replace("/spec/versions/0/schema/openAPIV3Schema/description", "theirs"),
    },
  },
  {
    resource: MAC_POOLS,
    name: "default",
    edits: { "a range": replace("/spec/ranges", [{ start: "02:00:00:00:00:00", end: "02:00:00:00:00:ff" }]) },
  },
  {
    resource: SECURITY_CONTEXT_CONSTRAINTS,
    name: "linux-bridge",
    edits: {
      "a capability": add("/allowedCapabilities/-", "SYS_ADMIN"),
      "a privileged container": replace("/allowPrivilegedContainer", true),
      "a user": add("/users", ["theirs"]),
    },
  },
  {
    resource: SERVICE_MONITORS,
    name: "kubemacpool-metrics-monitor",
    edits: { "no endpoint": replace("/spec/endpoints", []), "a limit": add("/spec/sampleLimit", 1) },
  },
  {
    resource: PROMETHEUS_RULES,
    name: "cluster-network-addons-operator-health",
    edits: { "no group": replace("/spec/groups", []), "a group": add("/spec/groups/-", { name: "theirs", rules: [] }) },
  },
  {
    resource: defineResource("cert-manager.io/v1", "Issuer", "issuers", true),
    name: `${IPAM}-selfsigned-issuer`,
    edits: { "another authority": replace("/spec", { ca: { secretName: "theirs" } }) },
  },
  {
    resource: defineResource("cert-manager.io/v1", "Certificate", "certificates", true),
    name: `${IPAM}-serving-cert`,
    edits: {
      "another Secret": replace("/spec/secretName", "theirs"),
      "an authority": add("/spec/isCA", true),
      "a name": add("/spec/dnsNames/-", "theirs.example.com"),
    },
  },
];
