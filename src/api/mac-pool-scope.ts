/**
 * The scope of the MAC pool: which namespaces, objects and interfaces it manages. The operator renders these rules into
 * the webhook configuration, and the pool applies the same rules to objects that exist already. Rules on labels are
 * data that both sides read. Rules on interfaces are CEL for the API server and code in the pool;
 * test/mac-pool/scope.real.test.ts holds the two together.
 */

import { isSameMac } from "./cel.ts";
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

/** The account of virt-controller; KubeVirt may be installed in any namespace. */
const VIRT_CONTROLLER = "kubevirt-controller";

/**
 * Whether an account has the name of virt-controller's. Anybody may give an account of their namespace this name: what such
 * an account is told nobody but that account needs, and what it makes is judged by its rights as well.
 */
export const isNamedVirtController = (username: string): boolean =>
  username.startsWith("system:serviceaccount:") && username.endsWith(`:${VIRT_CONTROLLER}`);

/**
 * CEL: the pod is no launcher. Launcher pods carry the addresses of their VM and own none, but their label can be written by
 * anybody. It counts where the account has virt-controller's name and may update the VMIs of all namespaces, a right that
 * no tenant can grant.
 */
export const NOT_A_LAUNCHER =
  `!(has(object.metadata.labels) && '${LAUNCHER_LABEL}' in object.metadata.labels && ` +
  `object.metadata.labels['${LAUNCHER_LABEL}'] == '${LAUNCHER}' && ` +
  `request.userInfo.username.matches('^system:serviceaccount:[^:]+:${VIRT_CONTROLLER}$') && ` +
  "authorizer.group('kubevirt.io').resource('virtualmachineinstances').check('update').allowed())";

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

/** Run strategy of a VM that is not to run. */
export const HALTED = "Halted";

/** Where a VM and a VMI have the spec of the guest. */
const VM_SPEC = "?spec.?template.?spec";
const VMI_SPEC = "?spec";

const interfacesOf = (object: string, spec: string): string =>
  `${object}.${spec}.?domain.?devices.?interfaces.orValue([])`;
const networksOf = (object: string, spec: string): string => `${object}.${spec}.?networks.orValue([])`;
const text = (value: string, field: string): string => `${value}.?${field}.orValue('')`;
const isSame = (field: string, one: string, other: string): string => `${text(one, field)} == ${text(other, field)}`;

/** Sources of a network beside the pod's own. KubeVirt's gate NetworkDevicesWithDRA brings the second. */
export const SECONDARY_NETWORKS = ["multus", "resourceClaim"] as const;

const IS_SECONDARY = SECONDARY_NETWORKS.map((source) => `n.?${source}.hasValue()`).join(" || ");

/** The pool gives an address to masquerade interfaces and to those on a secondary network of the same name. */
const isManaged = (spec: string): string =>
  `(i.?masquerade.hasValue() || ${networksOf("object", spec)}` +
  `.exists(n, ${isSame("name", "n", "i")} && (${IS_SECONDARY})))`;

const IS_OPTED_OUT = `object.?metadata.?labels[?'${VM_WEBHOOK}'].orValue('') == '${OPT_OUT}'`;
const HAS_ADDRESS = `${text("i", "macAddress")} != ''`;
/** An interface that is to get an address; one that is being unplugged gets none. */
const LACKS_ADDRESS = `(${text("i", "macAddress")} == '' && ${text("i", "state")} != 'absent' && !(${IS_OPTED_OUT}))`;

const hasManaged = (spec: string, which: string): string =>
  `${interfacesOf("object", spec)}.exists(i, (${which}) && ${isManaged(spec)})`;

/** CEL: a VM or VMI has an interface that the pool gives an address to, or claims one for. */
const hasAnyFor = (spec: string): string => hasManaged(spec, `${HAS_ADDRESS} || ${LACKS_ADDRESS}`);

/** An interface of the VM is new, or has another address or network. One that is unplugged is as it was. */
const INTERFACES_CHANGED =
  `(${interfacesOf("object", VM_SPEC)} != ${interfacesOf("oldObject", VM_SPEC)} || ` +
  `${networksOf("object", VM_SPEC)} != ${networksOf("oldObject", VM_SPEC)}) && ` +
  `${interfacesOf("object", VM_SPEC)}.exists(i, !(` +
  `${interfacesOf("object", VM_SPEC)}.filter(x, ${isSame("name", "x", "i")}).size() == ` +
  `${interfacesOf("oldObject", VM_SPEC)}.filter(x, ${isSame("name", "x", "i")}).size() && ` +
  `${interfacesOf("oldObject", VM_SPEC)}.exists(o, ${isSame("name", "o", "i")} && ${isSameMac(text("o", "macAddress"), text("i", "macAddress"))} && ` +
  `(${text("i", "state")} == 'absent' || ${text("o", "state")} != 'absent') && ` +
  "i.?masquerade.hasValue() == o.?masquerade.hasValue()) && " +
  `${networksOf("object", VM_SPEC)}.filter(n, ${isSame("name", "n", "i")}) == ` +
  `${networksOf("oldObject", VM_SPEC)}.filter(n, ${isSame("name", "n", "i")})))`;

const isReceiver = (object: string): string => `${object}.?spec.?runStrategy.orValue('') == '${WAIT_AS_RECEIVER}'`;
const mayRun = (object: string): string =>
  `(${object}.?spec.?running.orValue(false) == true || ` +
  `!(${object}.?spec.?runStrategy.orValue('') in ['', '${HALTED}']))`;

/**
 * CEL: the VM request has something for the pool. As few requests as possible, because one that reaches the pool fails
 * while the pool is down: a new VM, interfaces that change, a VM that waits as a receiver no longer, and the start of one
 * that lacks an address. Every field access is optional: an expression that fails would refuse the request.
 */
export const VM_REQUEST_MATTERS =
  `${hasAnyFor(VM_SPEC)} && (request.operation == 'CREATE' ? true : (` +
  [
    `(${isReceiver("oldObject")} && !(${isReceiver("object")}))`,
    `(!${mayRun("oldObject")} && ${mayRun("object")} && ${hasManaged(VM_SPEC, LACKS_ADDRESS)})`,
    `(${INTERFACES_CHANGED})`,
  ].join(" || ") +
  "))";

/** CEL: the VMI has something for the pool. */
export const VMI_REQUEST_MATTERS = hasAnyFor(VMI_SPEC);

export const NOT_BEING_DELETED = "!has(object.metadata.deletionTimestamp)";

/** CEL: the VMI says that a VM made it, which then has its name. The pool looks whether that VM exists. */
export const OWNED_BY_VM =
  "object.?metadata.?ownerReferences.orValue([])" +
  ".exists(o, o.kind == 'VirtualMachine' && o.name == object.?metadata.?name.orValue(''))";

/** CEL: the VMI of a VM starts with an address, or gets one. KubeVirt writes a running VMI often; the rest does not matter. */
export const VMI_STARTS_OR_GETS_INTERFACES =
  `request.operation == 'CREATE' ? ${hasManaged(VMI_SPEC, HAS_ADDRESS)} : (${NOT_BEING_DELETED} && ` +
  `${hasManaged(VMI_SPEC, `${HAS_ADDRESS} && !${interfacesOf("oldObject", VMI_SPEC)}.exists(o, ${isSame("macAddress", "o", "i")})`)})`;

/** CEL: a pod is new, or asks for other networks than before: a network is plugged in by the annotation of a running pod. */
export const asksForOtherNetworks = (annotation: string): string =>
  `request.operation == 'CREATE' || oldObject.?metadata.?annotations[?'${annotation}'].orValue('') != ` +
  `object.?metadata.?annotations[?'${annotation}'].orValue('')`;

/** CEL: a pod asks for networks by this annotation. */
export const asksForNetworks = (annotation: string): string =>
  `has(object.metadata.annotations) && '${annotation}' in object.metadata.annotations && ` +
  `!(object.metadata.annotations['${annotation}'].trim() in ['', '[]'])`;
