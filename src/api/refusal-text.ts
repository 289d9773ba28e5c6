/** Refusals for one reason, in words. Pure. */

const NUMBER = new Intl.NumberFormat("en");

interface Refused {
  readonly code: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly mac?: string;
  readonly pool?: string;
}

/** Reasons that are about an address, a pool or the namespace: refusals with another one have another reason. */
const SUBJECTS: Readonly<Record<string, "mac" | "pool" | "namespace">> = {
  MACPOOL_CONFLICT: "mac",
  MACPOOL_SHARED_TOO_OFTEN: "mac",
  MACPOOL_RUNNING: "mac",
  MACPOOL_EXPLICIT_ADDRESS: "mac",
  MACPOOL_HOST_ADDRESS: "mac",
  MACPOOL_FULL: "pool",
  MACPOOL_NO_POOL: "namespace",
  MACPOOL_NAMESPACE_LIMIT: "namespace",
  MACPOOL_PENDING_LIMIT: "namespace",
  MACPOOL_NO_NAMESPACE: "namespace",
};

/** Refusals with the same key were refused for one reason. */
export function reasonKey(refused: Refused): string {
  const subject = SUBJECTS[refused.code];
  return `${refused.code} ${subject === undefined ? "" : (refused[subject] ?? "")}`;
}

/** Where the refusal does not say which. */
const ADDRESS = "the address";

const REASONS: Readonly<Record<string, (refused: Refused) => string>> = {
  MACPOOL_CONFLICT: ({ mac = ADDRESS }) => `${mac} is in use`,
  MACPOOL_SHARED_TOO_OFTEN: ({ mac = ADDRESS }) => `${mac} is shared by the maximum of objects`,
  MACPOOL_RUNNING: ({ mac }) => `an object with ${mac} is running or starting`,
  MACPOOL_EXPLICIT_ADDRESS: ({ mac = ADDRESS }) => `${mac} may not be written by hand`,
  MACPOOL_HOST_ADDRESS: ({ mac = ADDRESS }) => `${mac} is the address of a node or of a station outside the cluster`,
  MACPOOL_DUPLICATE: () => "two interfaces have one address",
  MACPOOL_INVALID_MAC: () => "the address is none that an interface can have",
  MACPOOL_INTERFACE_NAMES: () => "an interface has no name of its own",
  MACPOOL_NAME_TOO_LONG: () => "the name of an interface is too long",
  MACPOOL_TOO_MANY_INTERFACES: () => "too many interfaces",
  MACPOOL_FULL: ({ pool }) => `${pool ?? "the pool"} is full`,
  MACPOOL_NO_POOL: ({ namespace }) => `no MACPool has addresses for namespace ${namespace}`,
  MACPOOL_NAMESPACE_LIMIT: ({ namespace }) => `namespace ${namespace} has as many addresses as it may have`,
  MACPOOL_PENDING_LIMIT: ({ namespace }) => `namespace ${namespace} waits for too many objects`,
  MACPOOL_NO_NAMESPACE: ({ namespace }) => `namespace ${namespace} does not exist`,
  MACPOOL_BUSY: () => "too many requests at the same time",
  MACPOOL_UNAVAILABLE: () => "the addresses could not be claimed",
};

/** `2 VMs: tenant-b is full`, of refusals for one reason: each object counts once. */
export function describeRefused(refused: readonly Refused[]): string {
  const [first] = refused;
  if (first === undefined) return "";
  const reason = REASONS[first.code]?.(first) ?? first.code;
  return `${countObjects(refused)}: ${reason}`;
}

const KINDS: Readonly<Record<string, string>> = { VirtualMachine: "VM", VirtualMachineInstance: "VMI", Pod: "pod" };

/** `2 VMs and 1 pod` */
function countObjects(refused: readonly Refused[]): string {
  const objects = new Map(refused.map((each) => [`${each.kind}/${each.namespace}/${each.name}`, each.kind]));
  const byKind = Map.groupBy(objects.values(), (kind) => kind);
  return [...byKind]
    .map(([kind, { length }]) => `${NUMBER.format(length)} ${KINDS[kind] ?? kind}${length === 1 ? "" : "s"}`)
    .join(" and ");
}
