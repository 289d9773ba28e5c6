import { networkOf } from "../../api/claim-network.ts";
import { OPT_OUT } from "../../api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../api/names.ts";
import { type NetworkElement, unreadable } from "../../api/network-selection.ts";
import { jsonPointer } from "../../kube/client/json-patch.ts";
import { textAt } from "../../kube/json-path.ts";
import type { AdmissionRequest } from "../../kube/server/admission-server.ts";
import { severalMacs } from "../claims/refusals.ts";
import { podNetworks } from "../objects/pod-networks.ts";
import {
  type AdmissionParts,
  admitted,
  carryOut,
  type Decision,
  denied,
  mayOptOut,
  objectOfRequest,
  UNCHANGED,
} from "./decision.ts";
import { type InterfaceStep, planInterfaces, type RequestedInterface } from "./interface-plan.ts";

/**
 * /mutate-pods: the attachments that a pod asks multus for get an address, when it is created and when they are plugged in by its
 * annotation. What the stored pod asks for stays as it is. Launchers of virt-controller, whose addresses are those of their VM, are
 * not sent here (NOT_A_LAUNCHER); the label or network status of any other pod says nothing. Fields of an element that are not
 * ours survive; an annotation that multus would not understand is left to multus, with a warning.
 */
export async function reviewPod(
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object, oldObject } = request;
  if (request.operation !== "CREATE" && request.operation !== "UPDATE") return UNCHANGED;
  const optsOut = isOptedOut(object);
  const isLeftAlone = optsOut && (await mayOptOut(request.namespace ?? "", parts, signal));
  if (isLeftAlone === true) return UNCHANGED;
  if (isLeftAlone !== false) return denied(isLeftAlone);
  const networks = podNetworks(object);
  if (networks.form === "none") return UNCHANGED;
  if (networks.form === "malformed") {
    return admitted([], [{ message: unreadable(NETWORKS_ANNOTATION, networks.reason) }]);
  }

  const before = elementsOf(oldObject);
  const claimedBefore = !isOptedOut(oldObject);
  const stored = new Set(claimedBefore ? before.map(textOf) : []);
  const isStored = (element: NetworkElement): boolean => stored.has(textOf(element));
  if (networks.elements.every(isStored)) return UNCHANGED;
  const ref = objectOfRequest("Pod", request);
  const several = networks.elements.find((element) => element.otherMacs.length > 0 && !isStored(element));
  if (several !== undefined) {
    return denied(severalMacs(ref, several.interface, [several.mac, ...several.otherMacs]));
  }
  const plan = planInterfaces({
    ref,
    field: "mac",
    interfaces: networks.elements.map(requested),
    before: before.map(requested),
    claimedBefore,
    judgedAnew: false,
    perNetwork: parts.networks.scopeIn(ref.namespace) === "Network",
  });
  if (!plan.ok) return denied(plan.refusal);
  const asked = { ref, receiver: false, judgedAnew: false, field: "mac", dryRun: request.dryRun } as const;
  const isNew = ({ to }: InterfaceStep): boolean => !isStored(networks.elements[to.index] as NetworkElement);
  const steps = optsOut
    ? plan.steps.filter(({ action }) => action === "claim")
    : plan.steps.filter((step) => step.action !== "allocate" || isNew(step));
  const result = await carryOut({ ...plan, steps }, asked, parts, signal);
  if (!result.ok) return denied(result.refusal);
  const { macs, warnings } = result;
  if (macs.size === 0) return admitted([], warnings);
  const list = networks.elements.map(({ raw }, index) => (macs.has(index) ? { ...raw, mac: macs.get(index) } : raw));
  const path = jsonPointer("metadata", "annotations", NETWORKS_ANNOTATION);
  return admitted([{ op: "replace", path, value: JSON.stringify(list) }], warnings);
}

const isOptedOut = (pod: unknown): boolean => textAt(pod, "metadata", "labels", POD_WEBHOOK) === OPT_OUT;

function elementsOf(pod: unknown): readonly NetworkElement[] {
  const networks = podNetworks(pod);
  return "elements" in networks ? networks.elements : [];
}

/** What the pool looks at in an attachment. */
const textOf = (element: NetworkElement): string =>
  JSON.stringify([element.interface, networkOf(element), element.mac, ...element.otherMacs]);

function requested(element: NetworkElement, index: number): RequestedInterface {
  return {
    index,
    name: element.interface,
    network: networkOf(element),
    mac: element.mac,
    eligible: true,
    absent: false,
  };
}
