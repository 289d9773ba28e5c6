/**
 * Part of kubeMacPool: the webhook configuration. A start of a VM asks the pool only whether another holder of an
 * address runs, and goes on without an answer. The cert manager writes the caBundle, so it is not rendered.
 */

import {
  asksForNetworks,
  asksForOtherNetworks,
  type LabelRequirement,
  NOT_A_LAUNCHER,
  NOT_BEING_DELETED,
  OWNED_BY_VM,
  POD_NAMESPACES,
  RUN_LEVELS,
  VM_NAMESPACES,
  VM_REQUEST_MATTERS,
  VMI_REQUEST_MATTERS,
  VMI_STARTS_OR_GETS_INTERFACES,
} from "../../api/mac-pool-scope.ts";
import {
  MAC_POOL_SERVICE,
  MAC_POOL_WEBHOOK_CONFIGURATION,
  NAMESPACE_NAME_LABEL,
  NETWORKS_ANNOTATION,
  POD_WEBHOOK,
  SYSTEM_NAMESPACE,
  VM_WEBHOOK,
  VMI_START_WEBHOOK,
  VMI_WEBHOOK,
} from "../../api/names.ts";
import { MAC_POOL_PATHS } from "../../api/webhook-paths.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly operations: readonly string[];
  readonly namespaces: LabelRequirement;
  readonly conditions: readonly { readonly name: string; readonly expression: string }[];
  /** The request goes on if the pool does not answer within this time. Unset: the request fails. */
  readonly bestEffortSeconds?: number;
}

const TIMEOUT_SECONDS = 10;

/** A start of a VM waits no longer for a pool that is down. */
const START_TIMEOUT_SECONDS = 2;

const ENTRIES: readonly Entry[] = [
  {
    name: POD_WEBHOOK,
    path: MAC_POOL_PATHS.pods,
    group: "",
    resource: "pods",
    operations: ["CREATE", "UPDATE"],
    namespaces: POD_NAMESPACES,
    conditions: [
      { name: "no-launcher", expression: NOT_A_LAUNCHER },
      { name: "asks-for-networks", expression: asksForNetworks(NETWORKS_ANNOTATION) },
      { name: "networks-changed", expression: asksForOtherNetworks(NETWORKS_ANNOTATION) },
    ],
  },
  {
    name: VM_WEBHOOK,
    path: MAC_POOL_PATHS.virtualMachines,
    group: "kubevirt.io",
    resource: "virtualmachines",
    operations: ["CREATE", "UPDATE"],
    namespaces: VM_NAMESPACES,
    conditions: [
      { name: "not-being-deleted", expression: NOT_BEING_DELETED },
      { name: "interfaces-changed", expression: VM_REQUEST_MATTERS },
    ],
  },
  {
    name: VMI_WEBHOOK,
    path: MAC_POOL_PATHS.instances,
    group: "kubevirt.io",
    resource: "virtualmachineinstances",
    operations: ["CREATE"],
    namespaces: VM_NAMESPACES,
    conditions: [
      { name: "without-vm", expression: `!${OWNED_BY_VM}` },
      { name: "has-interfaces", expression: VMI_REQUEST_MATTERS },
    ],
  },
  {
    name: VMI_START_WEBHOOK,
    path: MAC_POOL_PATHS.instances,
    group: "kubevirt.io",
    resource: "virtualmachineinstances",
    operations: ["CREATE", "UPDATE"],
    namespaces: VM_NAMESPACES,
    conditions: [
      { name: "of-a-vm", expression: OWNED_BY_VM },
      { name: "starts-or-gets-interfaces", expression: VMI_STARTS_OR_GETS_INTERFACES },
    ],
    bestEffortSeconds: START_TIMEOUT_SECONDS,
  },
];

export function macPoolWebhooks(namespace: string, labels: Readonly<Record<string, string>>): KubeObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: MAC_POOL_WEBHOOK_CONFIGURATION, labels },
    webhooks: ENTRIES.map((entry) => webhook(entry, namespace)),
  };
}

function webhook(entry: Entry, namespace: string) {
  return {
    name: entry.name,
    clientConfig: { service: { name: MAC_POOL_SERVICE, namespace, path: entry.path, port: 443 } },
    rules: [
      {
        apiGroups: [entry.group],
        apiVersions: ["v1"],
        resources: [entry.resource],
        operations: entry.operations,
        scope: "Namespaced",
      },
    ],
    matchConditions: entry.conditions,
    namespaceSelector: {
      matchExpressions: [
        entry.namespaces,
        ...RUN_LEVELS,
        { key: NAMESPACE_NAME_LABEL, operator: "NotIn", values: [SYSTEM_NAMESPACE, namespace] },
      ],
    },
    failurePolicy: entry.bestEffortSeconds === undefined ? "Fail" : "Ignore",
    matchPolicy: "Equivalent",
    sideEffects: "NoneOnDryRun",
    reinvocationPolicy: "Never",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: entry.bestEffortSeconds ?? TIMEOUT_SECONDS,
  };
}
