/**
 * Part of kubeMacPool: which requests reach the pool. As few as possible, because a request that reaches it fails when
 * the pool is down: starting, stopping or deleting a virtual machine never does. A start asks the pool only whether
 * another holder of the address runs, and goes on without an answer. Without a caBundle, which the cert manager writes.
 */

import {
  MAC_POOL_SERVICE,
  MAC_POOL_WEBHOOK_CONFIGURATION,
  NETWORKS_ANNOTATION,
  POD_WEBHOOK,
  VM_WEBHOOK,
  VMI_START_WEBHOOK,
  VMI_WEBHOOK,
} from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly operations: readonly string[];
  readonly namespaces: Requirement;
  readonly objects?: Requirement;
  readonly conditions: readonly { readonly name: string; readonly expression: string }[];
  /** The request goes on when the pool does not answer within this time. Unset: it fails. */
  readonly bestEffortSeconds?: number;
}

interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn";
  readonly values: readonly string[];
}

const TIMEOUT_SECONDS = 10;

/** Starting a VM waits no longer than this for a pool that is down. */
const START_TIMEOUT_SECONDS = 2;

const INTERFACES = "?spec.?template.?spec.?domain.?devices.?interfaces";
const NETWORKS = "?spec.?template.?spec.?networks";
const OPT_OUT_LABEL = `?metadata.?labels[?'${VM_WEBHOOK}']`;

const differs = (path: string): string => `object.${path} != oldObject.${path}`;

/** Masquerade, or on a multus network of the same name: the interfaces that the pool gives an address to. */
const IS_ELIGIBLE =
  `(i.?masquerade.hasValue() || object.${NETWORKS}.orValue([])` +
  ".exists(n, n.?name.orValue('') == i.?name.orValue('') && n.?multus.hasValue()))";

/** Optional access everywhere: an expression that fails would refuse the request. */
const VM_CONCERNS_US = [
  "request.operation == 'CREATE'",
  differs(INTERFACES),
  differs(NETWORKS),
  differs(OPT_OUT_LABEL),
  `object.${INTERFACES}.orValue([])` +
    `.exists(i, i.?macAddress.orValue('') == '' && i.?state.orValue('') != 'absent' && ${IS_ELIGIBLE})`,
].join(" || ");

/** An instance is written again and again while it runs; only what it is made of matters, and what is plugged in. */
const VMI_CONCERNS_US =
  "request.operation == 'CREATE' || " +
  `(!has(object.metadata.deletionTimestamp) && ${differs("?spec.?domain.?devices.?interfaces")})`;

const HAS_VM = "object.?metadata.?ownerReferences.orValue([]).exists(o, o.kind == 'VirtualMachine')";

const ENTRIES: readonly Entry[] = [
  {
    name: POD_WEBHOOK,
    path: "/mutate-pods",
    group: "",
    resource: "pods",
    operations: ["CREATE"],
    namespaces: { key: POD_WEBHOOK, operator: "In", values: ["allocate"] },
    objects: { key: "kubevirt.io", operator: "NotIn", values: ["virt-launcher"] },
    conditions: [
      {
        name: "asks-for-networks",
        expression: `has(object.metadata.annotations) && '${NETWORKS_ANNOTATION}' in object.metadata.annotations`,
      },
    ],
  },
  {
    name: VM_WEBHOOK,
    path: "/mutate-virtualmachines",
    group: "kubevirt.io",
    resource: "virtualmachines",
    operations: ["CREATE", "UPDATE"],
    namespaces: { key: VM_WEBHOOK, operator: "NotIn", values: ["ignore"] },
    conditions: [
      { name: "not-being-deleted", expression: "!has(object.metadata.deletionTimestamp)" },
      { name: "interfaces-changed", expression: VM_CONCERNS_US },
    ],
  },
  {
    name: VMI_WEBHOOK,
    path: "/mutate-virtualmachineinstances",
    group: "kubevirt.io",
    resource: "virtualmachineinstances",
    operations: ["CREATE"],
    namespaces: { key: VM_WEBHOOK, operator: "NotIn", values: ["ignore"] },
    conditions: [{ name: "without-vm", expression: `!${HAS_VM}` }],
  },
  {
    name: VMI_START_WEBHOOK,
    path: "/mutate-virtualmachineinstances",
    group: "kubevirt.io",
    resource: "virtualmachineinstances",
    operations: ["CREATE", "UPDATE"],
    namespaces: { key: VM_WEBHOOK, operator: "NotIn", values: ["ignore"] },
    conditions: [
      { name: "of-a-vm", expression: HAS_VM },
      { name: "starts-or-gets-interfaces", expression: VMI_CONCERNS_US },
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
        { key: "runlevel", operator: "NotIn", values: ["0", "1"] },
        { key: "openshift.io/run-level", operator: "NotIn", values: ["0", "1"] },
        { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", namespace] },
      ],
    },
    ...(entry.objects === undefined ? {} : { objectSelector: { matchExpressions: [entry.objects] } }),
    failurePolicy: entry.bestEffortSeconds === undefined ? "Fail" : "Ignore",
    matchPolicy: "Equivalent",
    sideEffects: "NoneOnDryRun",
    reinvocationPolicy: "Never",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: entry.bestEffortSeconds ?? TIMEOUT_SECONDS,
  };
}
