import { OPT_OUT } from "../../api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../api/names.ts";
import { type NetworkElement, unreadable } from "../../api/network-selection.ts";
import { jsonPointer } from "../../kube/client/json-patch.ts";
import { at, textAt } from "../../kube/json-path.ts";
import type { AdmissionRequest } from "../../kube/server/admission-server.ts";
import { severalMacs } from "../claims/refusals.ts";
import { networkOf, podNetworks } from "../objects/pod-networks.ts";
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
import { planInterfaces, type RequestedInterface } from "./interface-plan.ts";

/**
 * /mutate-pods: the attachments that a new pod asks multus for get an address. Launchers of virt-controller, whose addresses
 * are those of their VM, are not sent here (NOT_A_LAUNCHER); the label or network status of any other pod says nothing. Fields of an
 * element that are not ours survive; an annotation that multus would not understand is left to multus, with a warning.
 */
export async function reviewPod(
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object } = request;
  if (request.operation !== "CREATE") return UNCHANGED;
  const labels = at(object, "metadata", "labels");
  const optsOut = textAt(labels, POD_WEBHOOK) === OPT_OUT;
  const isLeftAlone = optsOut && (await mayOptOut(request.namespace ?? "", parts, signal));
  if (isLeftAlone === true) return UNCHANGED;
  if (isLeftAlone !== false) return denied(isLeftAlone);
  const networks = podNetworks(object);
  if (networks.form === "none") return UNCHANGED;
  if (networks.form === "malformed") {
    return admitted([], [{ message: unreadable(NETWORKS_ANNOTATION, networks.reason) }]);
  }

  const ref = objectOfRequest("Pod", request);
  const several = networks.elements.find(({ otherMacs }) => otherMacs.length > 0);
  if (several !== undefined) {
    return denied(severalMacs(ref, several.interface, [several.mac, ...several.otherMacs]));
  }
  const plan = planInterfaces({
    ref,
    field: "mac",
    interfaces: networks.elements.map(requested),
    before: [],
    claimedBefore: true,
    judgedAnew: false,
    perNetwork: false,
  });
  if (!plan.ok) return denied(plan.refusal);
  const asked = { ref, receiver: false, judgedAnew: false, field: "mac", dryRun: request.dryRun } as const;
  const steps = optsOut ? plan.steps.filter(({ action }) => action === "claim") : plan.steps;
  const result = await carryOut({ ...plan, steps }, asked, parts, signal);
  if (!result.ok) return denied(result.refusal);
  const { macs, warnings } = result;
  if (macs.size === 0) return admitted([], warnings);
  const list = networks.elements.map(({ raw }, index) => (macs.has(index) ? { ...raw, mac: macs.get(index) } : raw));
  const path = jsonPointer("metadata", "annotations", NETWORKS_ANNOTATION);
  return admitted([{ op: "replace", path, value: JSON.stringify(list) }], warnings);
}

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
