import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, MAX_NAME_CHARS, MAX_NETWORK_CHARS } from "../../api/mac-claim.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { textAt } from "../../kube/json-path.ts";
import type { RunningObject } from "../claims/collision.ts";
import { cut, mayBe } from "../claims/owner.ts";
import { instanceMacs, type ListedMac, podMacs, referenceOf } from "../objects/listed-macs.ts";
import { askedFor } from "../objects/pod-networks.ts";
import { attachmentsOfPod, isNotAttached, runningInstance, runningPod, runsOnNode } from "../objects/running.ts";

/** Something that runs with an address, and its network. */
export interface RunningAt extends RunningObject {
  readonly network: string | undefined;
  /** Layer-2 domains that its claim names for it. */
  readonly domains: readonly string[];
  /** As it lists it, or says it itself. */
  readonly interface?: string;
}

/** Owners of an address by its claim. */
type Owners = readonly ClaimOwner[];

/** A VMI that has the address, managed or not. Undefined for one whose guest does not run. */
export function instanceWith(
  mac: Mac,
  instance: KubeObject,
  isManaged: boolean,
  owners: Owners,
): RunningAt | undefined {
  if (!runsOnNode(instance)) return undefined;
  return { ...runningInstance(instance), ...placeOf(mac, instanceMacs(instance), owners), isManaged };
}

/**
 * A pod that has the address. The pool knows so of what a managed pod asks for, which admission has judged, and of what a
 * claim names it for, unless multus tells that it is not attached. Any other pod only says so itself, by what multus writes
 * into its annotation. Undefined for one that does not have it, as before it has a node.
 */
export function podWith(mac: Mac, pod: KubeObject, isManaged: boolean, owners: Owners): RunningAt | undefined {
  if (textAt(pod, "spec", "nodeName") === "") return undefined;
  const listed = podMacs(pod);
  const found = { ...runningPod(pod), ...placeOf(mac, listed, owners), isManaged };
  const ref = referenceOf("Pod", pod);
  const isKnown = listed.some((one) => one.mac === mac) || owners.some((owner) => mayBe(owner, ref));
  if (isManaged && isKnown && !isNotAttached(mac, pod)) return found;
  const attachment = attachmentsOfPod(pod).find((one) => one.mac === mac);
  if (attachment === undefined) return undefined;
  const network = cut(attachment.network, MAX_NETWORK_CHARS);
  const nic = cut(attachment.interface, MAX_NAME_CHARS);
  const asks = askedFor(pod, mac).length > 0 ? { asksForIt: true as const } : {};
  return { ...found, network, interface: nic, saidBy: "network-status", ...asks };
}

/** Where an object has the address: by its network, and by the claim if it is an owner. */
function placeOf(
  mac: Mac,
  listed: readonly ListedMac[],
  owners: Owners,
): Pick<RunningAt, "network" | "domains" | "interface"> {
  const listing = listed.find((entry) => entry.mac === mac)?.owner;
  const domains = owners.flatMap((owner) =>
    listing !== undefined && mayBe(owner, listing) ? (owner.domains ?? []) : [],
  );
  return { network: listing?.network, domains, ...(listing && { interface: listing.interface }) };
}
