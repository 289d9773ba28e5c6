import { parseMac, withSeparators } from "../../api/mac.ts";
import { HALTED, OPT_OUT, WAIT_AS_RECEIVER } from "../../api/mac-pool-scope.ts";
import { VM_WEBHOOK } from "../../api/names.ts";
import { at, textAt } from "../../kube/json-path.ts";
import type { RequestedInterface } from "../admission/interface-plan.ts";

/** What a request changes of a VM or VMI. api/mac-pool-scope.ts says the same in CEL. */

export interface GuestRequest {
  readonly object: unknown;
  /** Null for a creation. */
  readonly oldObject: unknown;
  readonly interfaces: readonly RequestedInterface[];
  /** Those of the old object. */
  readonly before: readonly RequestedInterface[];
}

/** Whether the request has something for the pool. */
export function requestMatters(request: GuestRequest): boolean {
  const { object, oldObject, interfaces, before } = request;
  const lacksAddress = (nic: RequestedInterface): boolean => nic.mac === "" && !nic.absent && !isOptedOut(object);
  const managed = interfaces.filter((nic) => nic.eligible && (nic.mac !== "" || lacksAddress(nic)));
  if (managed.length === 0) return false;
  if (oldObject === null || stopsWaiting(request)) return true;
  const starts = !mayRun(oldObject) && mayRun(object);
  return (starts && managed.some(lacksAddress)) || interfaces.some((nic) => isChanged(nic, interfaces, before));
}

/** A VM that waited to receive another one by live migration is judged like a new one. */
export function stopsWaiting({ object, oldObject }: Pick<GuestRequest, "object" | "oldObject">): boolean {
  return isReceiver(oldObject) && !isReceiver(object);
}

export function isReceiver(object: unknown): boolean {
  return textAt(object, "spec", "runStrategy") === WAIT_AS_RECEIVER;
}

/** The label that steers a namespace opts a single object out as well. */
export function isOptedOut(object: unknown): boolean {
  return textAt(object, "metadata", "labels", VM_WEBHOOK) === OPT_OUT;
}

function mayRun(object: unknown): boolean {
  if (at(object, "spec", "running") === true) return true;
  return !["", HALTED].includes(textAt(object, "spec", "runStrategy"));
}

/** New, or with another address or network. One that is unplugged is as it was. */
function isChanged(
  nic: RequestedInterface,
  interfaces: readonly RequestedInterface[],
  before: readonly RequestedInterface[],
): boolean {
  const named = (nics: readonly RequestedInterface[]): number => nics.filter(({ name }) => name === nic.name).length;
  if (named(interfaces) !== named(before)) return true;
  const isAsBefore = (old: RequestedInterface): boolean =>
    old.name === nic.name &&
    hasSameAddress(old, nic) &&
    old.network === nic.network &&
    old.eligible === nic.eligible &&
    (nic.absent || !old.absent);
  return !before.some(isAsBefore);
}

/** Another notation is no change, but for the one that is written anew. */
function hasSameAddress(old: RequestedInterface, { mac: text }: RequestedInterface): boolean {
  const mac = parseMac(text);
  return old.mac === text || (mac !== undefined && mac === parseMac(old.mac) && withSeparators(text) === text);
}
