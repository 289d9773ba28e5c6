import { formatMac, type Mac, type UnusableMac } from "../../api/mac.ts";
import { type ClaimOwner, MAX_CLAIM_OWNERS } from "../../api/mac-claim.ts";
import type { PoolCounts } from "../pools/pool.ts";
import { describeFull, NO_ADDRESSES } from "../pools/pool-fullness.ts";
import { MAX_INTERFACES, MAX_SHOWN_CHARS, PENDING_MS } from "./limits.ts";
import { type Describe, describeOwners, type NamedText, namedText, SOMEBODY, takingFrom } from "./named-text.ts";
import { describeObject, mayBe, type ObjectReference } from "./owner.ts";

/**
 * Every refusal of the MAC pool: a stable code (the label `reason` of the metrics) and a text that says what is refused,
 * where, why and what to do. Existing test suites look for some of the phrases, so these stay to the letter.
 */

export type RefusalCode =
  | "MACPOOL_CONFLICT"
  | "MACPOOL_SHARED_TOO_OFTEN"
  | "MACPOOL_RUNNING"
  | "MACPOOL_EXPLICIT_ADDRESS"
  | "MACPOOL_HOST_ADDRESS"
  | "MACPOOL_DUPLICATE"
  | "MACPOOL_INVALID_MAC"
  | "MACPOOL_INTERFACE_NAMES"
  | "MACPOOL_NAME_TOO_LONG"
  | "MACPOOL_TOO_MANY_INTERFACES"
  | "MACPOOL_FULL"
  | "MACPOOL_NO_POOL"
  | "MACPOOL_NAMESPACE_LIMIT"
  | "MACPOOL_PENDING_LIMIT"
  | "MACPOOL_NO_NAMESPACE"
  | "MACPOOL_BUSY"
  | "MACPOOL_UNAVAILABLE";

export interface Refusal extends NamedText {
  readonly code: RefusalCode;
  /** The interface and the address that it is about, if it is about one. */
  readonly about?: { readonly interface?: string; readonly mac?: Mac };
  /** The MACPool that it is about, if the message names one. */
  readonly pool?: string;
  /** For readers of the object's namespace, where the message names a node. Whoever writes the object is told the message. */
  readonly withoutNodes?: string;
}

/** The field that holds an address: `macAddress` in VMs and VMIs, `mac` in pods. */
export type MacField = "macAddress" | "mac";

export const quote = (text: string): string =>
  JSON.stringify(text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text);

/** `two minutes`: how long a claim waits for an object that was admitted. */
export const waitOf = (pendingMs: number): string =>
  pendingMs === PENDING_MS ? "two minutes" : `${Math.ceil(pendingMs / 60_000)} minutes`;

export function conflict(
  mac: Mac,
  interfaceName: string,
  owners: readonly ClaimOwner[],
  {
    field,
    pendingMs,
    isAwaited,
    objectsListing,
  }: {
    readonly field: MacField;
    readonly pendingMs: number;
    readonly isAwaited: boolean;
    /** Objects that list the address. */
    readonly objectsListing: readonly ObjectReference[];
  },
): Refusal {
  const isComing = isAwaited && !owners.some((owner) => objectsListing.some((observed) => mayBe(owner, observed)));
  const later = `try again in ${waitOf(pendingMs)}: it is free then if that object was not created`;
  const text = namedText(
    owners,
    (describe) =>
      `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is in use by ${describeOwners(owners, describe)}` +
      `${isComing ? ", which was admitted a short while ago and may still be created" : ""}. ` +
      `Leave ${field} out to get an address from the pool. To use this one, ${isComing ? later : takingFrom(owners, describe)}.`,
  );
  return { code: "MACPOOL_CONFLICT", about: { interface: interfaceName, mac }, ...text };
}

/** The policy allows it, but a claim has no room for one more owner. */
export function sharedTooOften(mac: Mac, interfaceName: string, field: MacField): Refusal {
  return {
    code: "MACPOOL_SHARED_TOO_OFTEN",
    about: { interface: interfaceName, mac },
    message:
      `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is already shared by ${MAX_CLAIM_OWNERS} objects, which ` +
      "is the maximum (objects that are being created count). " +
      `Leave ${field} out to get an address from the pool, or delete some of the objects that have this one.`,
  };
}

/** Admission warning where the policy lets several objects have one address; `exclusive` where only one of them may run. */
export function sharedWarning(
  mac: Mac,
  interfaceName: string,
  owners: readonly ClaimOwner[],
  exclusive: boolean,
): NamedText {
  const consequence = exclusive
    ? "Only one of them can run at a time: a second start is refused."
    : "They disturb each other when they run on the same network at the same time.";
  const what = `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is also in use by`;
  return namedText(owners, (describe) => `${what} ${describeOwners(owners, describe)}. ${consequence}`);
}

/** Event on each owner in a namespace of an address that several have without an admission. */
export function sharedByOwners(mac: string, owners: readonly ClaimOwner[], namespace: string): string {
  const describe: Describe = (owner) => (owner.namespace === namespace ? describeObject(owner) : SOMEBODY);
  return `MAC ${mac} is held by ${describeOwners(owners, describe)}. Give all but one of them another address before they run on the same network.`;
}

/** Event on a VM that could not be judged when it started. */
export const UNJUDGED =
  "The MAC pool could not check in time whether another holder of a MAC address of this VM runs. The start was admitted.";

/** Another owner of the address, and why it counts as running. */
export interface Runner {
  readonly owner: ClaimOwner;
  /** `starting`: its start was admitted, but it does not run yet. `coming`: it was admitted and runs once it exists. */
  readonly state: "running" | "starting" | "coming";
  /** End of the time that a start counts as running, by the own clock. */
  readonly until?: string;
}

/** Refuses a start, or a hot-plugged interface, while another owner of the address runs or is about to run. */
export function alreadyRunning(
  mac: Mac,
  ref: ObjectReference,
  { owner, state, until }: Runner,
  pluggedIn?: string,
): Refusal {
  const what = pluggedIn === undefined ? "start" : `get interface ${quote(pluggedIn)} while it runs`;
  const end = owner.kind === "VirtualMachine" ? "Stop" : "Delete";
  const why = {
    running: `is running. ${end} it first`,
    coming: `is being created. ${end} it first`,
    starting: `is starting; it counts as running until ${until}. Try again then`,
  };
  const text = namedText(
    [owner],
    (describe) =>
      `${describeObject(ref)} can't ${what}: ${describe(owner)} has the same MAC ${formatMac(mac)} and ` +
      `${why[state]}, or give one of them another address.`,
  );
  return { code: "MACPOOL_RUNNING", about: { mac, ...(pluggedIn && { interface: pluggedIn }) }, ...text };
}

export function duplicate(ref: ObjectReference, mac: Mac, first: string, second: string, field: MacField): Refusal {
  return {
    code: "MACPOOL_DUPLICATE",
    about: { interface: second, mac },
    message:
      `duplicate MAC address ${formatMac(mac)} in ${describeObject(ref)}: interfaces ${quote(first)} and ` +
      `${quote(second)} both have it. Leave ${field} out of one of them to get an address from the pool.`,
  };
}

export function invalidMac(ref: ObjectReference, interfaceName: string, text: string, field: MacField): Refusal {
  return {
    code: "MACPOOL_INVALID_MAC",
    about: { interface: interfaceName },
    message:
      `invalid MAC address format ${quote(text)} of interface ${quote(interfaceName)} in ${describeObject(ref)}. ` +
      `Write six octets, for example 02:00:00:00:00:01, or leave ${field} out to get an address from the pool.`,
  };
}

/** Which of them its plugin would take depends on the configuration of the network. */
export function severalMacs(ref: ObjectReference, interfaceName: string, texts: readonly string[]): Refusal {
  return {
    code: "MACPOOL_INVALID_MAC",
    about: { interface: interfaceName },
    message:
      `interface ${quote(interfaceName)} of ${describeObject(ref)} asks for several MAC addresses: ` +
      `${texts.map(quote).join(", ")}. Keep one of them: in "mac", or in "cni-args".`,
  };
}

export function unusableMac(
  ref: ObjectReference,
  interfaceName: string,
  mac: Mac,
  what: UnusableMac,
  field: MacField,
): Refusal {
  return {
    code: "MACPOOL_INVALID_MAC",
    about: { interface: interfaceName, mac },
    message:
      `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} in ${describeObject(ref)} is ${what} address, ` +
      `which no interface can have. Choose a unicast address, or leave ${field} out to get an address from the pool.`,
  };
}

export function repeatedName(ref: ObjectReference, name: string): Refusal {
  return {
    code: "MACPOOL_INTERFACE_NAMES",
    message: `every interface must have a unique name: ${describeObject(ref)} has two named ${quote(name)}. Rename one.`,
  };
}

export function missingName(ref: ObjectReference, index: number): Refusal {
  return {
    code: "MACPOOL_INTERFACE_NAMES",
    message: `every interface must have a unique name: interface ${index} of ${describeObject(ref)} has no name. Name it.`,
  };
}

export function tooManyInterfaces(ref: ObjectReference, count: number): Refusal {
  return {
    code: "MACPOOL_TOO_MANY_INTERFACES",
    message: `${describeObject(ref)} has ${count} interfaces. The maximum is ${MAX_INTERFACES}: remove some.`,
  };
}

/** To users, who write no pools. */
const ASK_FOR_ADDRESSES =
  "Delete objects that are no longer needed, or ask the administrator to add a range to the pool.";

/** `nextFreeMs`: until the oldest claim that waits for an object ends. */
export function full(pool: string, counts: PoolCounts, nextFreeMs: number | undefined): Refusal {
  const soon =
    nextFreeMs === undefined
      ? ""
      : ` The next one is free in ${Math.max(1, Math.ceil(nextFreeMs / 1000))} s at the latest, unless its object is stored.`;
  return { code: "MACPOOL_FULL", pool, message: `${describeFull(pool, counts)}${soon} ${ASK_FOR_ADDRESSES}` };
}

/** The pool that serves the namespace has no address at all. */
export function emptyPool(namespace: string, pool: string): Refusal {
  return {
    code: "MACPOOL_NO_POOL",
    pool,
    message:
      `MACPool ${pool}, which serves namespace ${namespace}, ${NO_ADDRESSES}. ` +
      "Correct spec.ranges or spec.exclusions, or write a MAC address of your own into the interface.",
  };
}

export function noPool(namespace: string): Refusal {
  return {
    code: "MACPOOL_NO_POOL",
    message:
      `no MACPool has addresses for namespace ${namespace}. Create MACPool "default" with a range, ` +
      "or write a MAC address of your own into the interface.",
  };
}

export function noNamespace(namespace: string): Refusal {
  return {
    code: "MACPOOL_NO_NAMESPACE",
    message: `namespace ${quote(namespace)} does not exist, so objects in it get no MAC address. Create the namespace first.`,
  };
}

export function busy(what: string): Refusal {
  return {
    code: "MACPOOL_BUSY",
    message: `other requests changed ${what} too often during this one. Nothing is wrong with the object: try again.`,
  };
}

export function unavailable(cause: string): Refusal {
  return {
    code: "MACPOOL_UNAVAILABLE",
    message: `the MAC addresses could not be claimed: ${cause}. Nothing was given out: try again.`,
  };
}
