import { formatMac, type Mac } from "../../api/mac.ts";
import { type ClaimOwner, MAX_CLAIM_OWNERS } from "../../api/mac-claim.ts";
import {
  MAX_INTERFACES,
  type MAX_PENDING_PER_NAMESPACE,
  type MAX_PENDING_PER_POOL,
  MAX_SHOWN_CHARS,
  PENDING_MS,
} from "./limits.ts";
import { describeParty, type Party } from "./party.ts";

/**
 * Every refusal of the MAC pool: a stable code (the `reason` of metrics and of the denial list) and a text that says
 * what, where, why and what to do. Some phrases are looked for by existing suites and are kept to the letter.
 */

export type RefusalCode =
  | "MACPOOL_CONFLICT"
  | "MACPOOL_SHARED_TOO_OFTEN"
  | "MACPOOL_RUNNING"
  | "MACPOOL_DUPLICATE"
  | "MACPOOL_INVALID_MAC"
  | "MACPOOL_INTERFACE_NAMES"
  | "MACPOOL_TOO_MANY_INTERFACES"
  | "MACPOOL_FULL"
  | "MACPOOL_NO_POOL"
  | "MACPOOL_PENDING_LIMIT"
  | "MACPOOL_NO_NAMESPACE"
  | "MACPOOL_BUSY"
  | "MACPOOL_UNAVAILABLE";

export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
}

/** How the two kinds of objects spell the field that holds an address. */
export type MacField = "macAddress" | "mac";

const quote = (text: string): string =>
  JSON.stringify(text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text);

/** `two minutes`: how long until an object that was admitted is not waited for any more. */
const waitOf = (pendingMs: number): string =>
  pendingMs === PENDING_MS ? "two minutes" : `${Math.ceil(pendingMs / 60_000)} minutes`;

export function conflict(
  mac: Mac,
  interfaceName: string,
  owners: readonly ClaimOwner[],
  { field, pendingMs }: { readonly field: MacField; readonly pendingMs: number },
): Refusal {
  const named = owners.map((owner) => `${describeParty(owner)} (${owner.interface})`).join(" and ");
  const isComing = owners.every(({ uid }) => uid === undefined);
  const other = owners[0]?.kind === "Pod" ? "delete the other pod" : "take the address off the other VM or delete it";
  const more = isComing
    ? `try again in ${waitOf(pendingMs)}: the address is free then if that was never created`
    : `${other} first`;
  return {
    code: "MACPOOL_CONFLICT",
    message:
      `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is in use by ${named}` +
      `${isComing ? ", admitted and not seen yet" : ""}. Leave ${field} out to get a free one, or ${more}.`,
  };
}

/** The policy would allow it, but a claim has no room for one more owner. */
export function sharedTooOften(mac: Mac, interfaceName: string, field: MacField): Refusal {
  return {
    code: "MACPOOL_SHARED_TOO_OFTEN",
    message:
      `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is shared by ${MAX_CLAIM_OWNERS} objects, the most ` +
      `that can be told apart, those that are being created included. Leave ${field} out to get a free one, or delete ` +
      "some of the objects that have it.",
  };
}

/** Admission warning where the policy lets several objects have one address; `exclusive` where only one of them may run. */
export function sharedWarning(
  mac: Mac,
  interfaceName: string,
  owners: readonly ClaimOwner[],
  exclusive: boolean,
): string {
  const named = owners.map((owner) => `${describeParty(owner)} (${owner.interface})`).join(" and ");
  const consequence = exclusive
    ? "one of them can run at a time, a second start is refused."
    : "they disturb each other when they run on one network at the same time.";
  return `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is also in use by ${named}: ${consequence}`;
}

/** Event on each of several holders that were not admitted beside each other. */
export function sharedByHolders(mac: string, owners: readonly ClaimOwner[]): string {
  const named = owners.map((owner) => `${describeParty(owner)} (${owner.interface})`).join(" and ");
  return `MAC ${mac} is held by ${named}. Give all but one of them another address before they run on one network.`;
}

/** Another holder of the address, and why it counts as running. */
export interface Runner {
  readonly owner: ClaimOwner;
  /** `starting`: its start was admitted, and its instance was not seen. `coming`: admitted, and runs once it exists. */
  readonly state: "running" | "starting" | "coming";
}

/**
 * A start, or an interface that is plugged into what runs, is refused because another holder of the address runs, or is
 * about to.
 */
export function alreadyRunning(mac: Mac, party: Party, { owner, state }: Runner, pluggedIn?: string): Refusal {
  const what = pluggedIn === undefined ? "start" : `get interface ${quote(pluggedIn)} while it runs`;
  const end = owner.kind === "VirtualMachine" ? "Stop" : "Delete";
  const why = {
    running: `is running. ${end} it first`,
    coming: `is being created. ${end} it first`,
    starting:
      `was let start a moment ago, which counts until ${owner.starting} although it does not run now: the start may ` +
      "still be under way. Try again then",
  };
  return {
    code: "MACPOOL_RUNNING",
    message:
      `${describeParty(party)} can't ${what}: ${describeParty(owner)} has the same MAC ${formatMac(mac)} and ` +
      `${why[state]}, or give one of them another address.`,
  };
}

export function duplicate(party: Party, mac: Mac, first: string, second: string, field: MacField): Refusal {
  return {
    code: "MACPOOL_DUPLICATE",
    message:
      `duplicate MAC address ${formatMac(mac)} in ${describeParty(party)}: interfaces ${quote(first)} and ` +
      `${quote(second)} have the same. Leave ${field} out of one of them to get a free one.`,
  };
}

export function invalidMac(party: Party, interfaceName: string, text: string, field: MacField): Refusal {
  return {
    code: "MACPOOL_INVALID_MAC",
    message:
      `invalid MAC address format ${quote(text)} of interface ${quote(interfaceName)} in ${describeParty(party)}. ` +
      `Write six octets, for example 02:00:00:00:00:01, or leave ${field} out to get a free one.`,
  };
}

export function unusableMac(
  party: Party,
  interfaceName: string,
  mac: Mac,
  what: "a multicast" | "the broadcast" | "the all-zero",
  field: MacField,
): Refusal {
  return {
    code: "MACPOOL_INVALID_MAC",
    message:
      `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} in ${describeParty(party)} is ${what} address, ` +
      `which no interface can have. Choose a unicast address, or leave ${field} out to get a free one.`,
  };
}

export function repeatedName(party: Party, name: string): Refusal {
  return {
    code: "MACPOOL_INTERFACE_NAMES",
    message: `every interface must have a unique name: ${describeParty(party)} has two called ${quote(name)}. Rename one.`,
  };
}

export function missingName(party: Party, index: number): Refusal {
  return {
    code: "MACPOOL_INTERFACE_NAMES",
    message: `every interface must have a unique name: interface ${index} of ${describeParty(party)} has none. Name it.`,
  };
}

export function tooManyInterfaces(party: Party, count: number): Refusal {
  return {
    code: "MACPOOL_TOO_MANY_INTERFACES",
    message: `${describeParty(party)} has ${count} interfaces; ${MAX_INTERFACES} get a MAC address at most. Remove some.`,
  };
}

/** `capacity` addresses are taken, those of requests that are being answered at this moment included. */
export function full(pool: string, capacity: number): Refusal {
  return {
    code: "MACPOOL_FULL",
    message:
      `the range is full: every address of MACPool ${pool} is in use (${capacity} of ${capacity}). ` +
      "Add a range to it, or delete objects that are no longer needed.",
  };
}

export function noPool(namespace: string): Refusal {
  return {
    code: "MACPOOL_NO_POOL",
    message:
      `no MACPool with addresses serves namespace ${namespace}. Create MACPool "default" with a range, ` +
      "or give the interface a MAC address of your own.",
  };
}

export function pendingLimit(
  where: string,
  limit: typeof MAX_PENDING_PER_NAMESPACE | typeof MAX_PENDING_PER_POOL,
  pendingMs: number,
): Refusal {
  return {
    code: "MACPOOL_PENDING_LIMIT",
    message:
      `${where} has ${limit} MAC addresses that were given to objects not created yet, which is the limit. ` +
      `Try again in ${waitOf(pendingMs)}; if it stays so, find out why those objects are rejected after admission.`,
  };
}

export function noNamespace(namespace: string): Refusal {
  return {
    code: "MACPOOL_NO_NAMESPACE",
    message: `namespace ${quote(namespace)} does not exist: no MAC address is given to objects in it. Create it first.`,
  };
}

export function busy(what: string): Refusal {
  return {
    code: "MACPOOL_BUSY",
    message: `${what} changed too often while it was claimed. Nothing is wrong with the object: try again.`,
  };
}

export function unavailable(cause: string): Refusal {
  return {
    code: "MACPOOL_UNAVAILABLE",
    message: `the MAC addresses could not be recorded: ${cause}. Nothing was given out: try again.`,
  };
}
