/**
 * The scope of the MAC pool: which namespaces, objects and interfaces it manages. The operator renders these rules into
 * the webhook configuration, and the pool applies the same rules to objects that exist already. Rules on labels are
 * data that both sides read. Rules on interfaces are CEL for the API server and code in the pool;
 * test/mac-pool/scope.real.test.ts holds the two together.
 */

import { LAUNCHER, LAUNCHER_LABEL, MAC_POOL_GROUP, POD_WEBHOOK, VM_WEBHOOK } from "./names.ts";

/** One `matchExpressions` entry of a Kubernetes label selector. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn";
  readonly values: readonly string[];
}

/** VMs and VMIs are managed unless their namespace opts out, pods only where their namespace opts in. */
export const VM_NAMESPACES: LabelRequirement = { key: VM_WEBHOOK, operator: "NotIn", values: ["ignore"] };
export const POD_NAMESPACES: LabelRequirement = { key: POD_WEBHOOK, operator: "In", values: ["allocate"] };

/** Namespaces of the cluster's own control plane are never managed, nor is the pool's own namespace. */
export const RUN_LEVELS: readonly LabelRequirement[] = ["runlevel", "openshift.io/run-level"].map((key) => ({
  key,
  operator: "NotIn",
  values: ["0", "1"],
}));

/**
 * virt-controller in the namespaces that KubeVirt and its distributions are installed in. Launcher pods carry the addresses of
 * their VM and own none, but their label can be written by anybody: it counts with this account only.
 */
const VIRT_CONTROLLERS = ["kubevirt", "openshift-cnv", "kubevirt-hyperconverged"].map(
  (namespace) => `system:serviceaccount:${namespace}:kubevirt-controller`,
);

export const isVirtController = (username: string | undefined): boolean =>
  username !== undefined && VIRT_CONTROLLERS.includes(username);

/** CEL: the pod is no launcher. */
export const NOT_A_LAUNCHER =
  `!(has(object.metadata.labels) && '${LAUNCHER_LABEL}' in object.metadata.labels && ` +
  `object.metadata.labels['${LAUNCHER_LABEL}'] == '${LAUNCHER}' && ` +
  `request.userInfo.username in [${VIRT_CONTROLLERS.map((name) => `'${name}'`).join(", ")}])`;

/** The label that steers a namespace opts out a single object too, see OBJECT_OPT_OUT_LABEL. */
export const OPT_OUT = "ignore";

/**
 * Label of a namespace: what the opt-out of a single object means in it, `allow` or `claim`. Without it, the pool of the
 * namespace says so. Whoever writes objects does not write namespaces.
 */
export const OBJECT_OPT_OUT_LABEL = `${MAC_POOL_GROUP}/object-opt-out`;

export function meets(labels: Readonly<Record<string, string>>, { key, operator, values }: LabelRequirement): boolean {
  const value = labels[key];
  const listed = value !== undefined && values.includes(value);
  return operator === "In" ? listed : !listed;
}

/** Run strategy of a VM that waits to receive another one by live migration. */
export const WAIT_AS_RECEIVER = "WaitAsReceiver";

const INTERFACES = "?spec.?template.?spec.?domain.?devices.?interfaces";
const NETWORKS = "?spec.?template.?spec.?networks";

const differs = (path: string): string => `object.${path} != oldObject.${path}`;

/** The pool gives an address to masquerade interfaces and to those on a multus network of the same name. */
const IS_MANAGED_INTERFACE =
  `(i.?masquerade.hasValue() || object.${NETWORKS}.orValue([])` +
  ".exists(n, n.?name.orValue('') == i.?name.orValue('') && n.?multus.hasValue()))";

const isReceiver = (object: string): string => `${object}.?spec.?runStrategy.orValue('') == '${WAIT_AS_RECEIVER}'`;

/**
 * CEL: the VM request has something for the pool. As few requests as possible, because one that reaches the pool fails
 * while the pool is down. Every field access is optional: an expression that fails would refuse the request.
 */
export const VM_REQUEST_MATTERS = [
  "request.operation == 'CREATE'",
  differs(INTERFACES),
  differs(NETWORKS),
  differs(`?metadata.?labels[?'${VM_WEBHOOK}']`),
  `(${isReceiver("oldObject")} && !(${isReceiver("object")}))`,
  `object.${INTERFACES}.orValue([])` +
    `.exists(i, i.?macAddress.orValue('') == '' && i.?state.orValue('') != 'absent' && ${IS_MANAGED_INTERFACE})`,
].join(" || ");

export const NOT_BEING_DELETED = "!has(object.metadata.deletionTimestamp)";

/** CEL: the VMI says that a VM made it, which then has its name. The pool looks whether that VM exists. */
export const OWNED_BY_VM =
  "object.?metadata.?ownerReferences.orValue([])" +
  ".exists(o, o.kind == 'VirtualMachine' && o.name == object.?metadata.?name.orValue(''))";

/** CEL: the VMI of a VM starts or gets an interface. KubeVirt writes a running VMI often; the rest does not matter. */
export const VMI_STARTS_OR_GETS_INTERFACES = `request.operation == 'CREATE' || (${NOT_BEING_DELETED} && ${differs("?spec.?domain.?devices.?interfaces")})`;

/** CEL: a pod asks for networks by this annotation. */
export const hasAnnotation = (annotation: string): string =>
  `has(object.metadata.annotations) && '${annotation}' in object.metadata.annotations`;
