import { formatMac } from "../../api/mac.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../api/names.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-server.ts";
import { jsonPointer } from "../../kube/client/json-patch.ts";
import { planInterfaces, type RequestedInterface } from "../core/interface-plan.ts";
import { at, textAt } from "../objects/json-path.ts";
import { hasNetworkStatus, type NetworkElement, podNetworks } from "../objects/pod-networks.ts";
import { type AdmissionParts, askLedger, type Decision, denied, partyOfRequest, UNCHANGED } from "./decision.ts";

/**
 * /mutate-pods: the attachments that a new pod asks multus for get an address. Fields of an element that are not ours
 * survive; an annotation that multus would not understand is left to multus, with a warning.
 */
export async function reviewPod(
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object } = request;
  if (request.operation !== "CREATE" || hasNetworkStatus(object)) return UNCHANGED;
  const labels = at(object, "metadata", "labels");
  if (textAt(labels, POD_WEBHOOK) === "ignore" || textAt(labels, "kubevirt.io") === "virt-launcher") return UNCHANGED;
  const networks = podNetworks(object);
  if (networks.form === "none") return UNCHANGED;
  if (networks.form === "malformed") {
    const warning = `annotation ${NETWORKS_ANNOTATION} gets no MAC addresses because it can't be read: ${networks.reason}.`;
    return { answer: { allowed: true, warnings: [warning] }, refusal: undefined };
  }

  const party = partyOfRequest("Pod", request);
  const plan = planInterfaces({
    party,
    field: "mac",
    interfaces: networks.elements.map(requested),
    before: [],
    claimedBefore: true,
  });
  if (!plan.ok) return denied(plan.refusal);
  const claimed = await askLedger(
    {
      party,
      wishes: plan.steps.map((step) => ({
        interface: step.to.name,
        network: step.to.network,
        mac: step.action === "claim" ? step.mac : undefined,
      })),
      listed: plan.listed,
      receiver: false,
      field: "mac",
      dryRun: request.dryRun,
    },
    parts,
    signal,
  );
  if (!claimed.ok) return denied(claimed.refusal);
  const macs = new Map(
    plan.steps.flatMap((step, position) => {
      const mac = claimed.macs[position];
      return step.action === "allocate" && mac !== undefined ? [[step.to.index, formatMac(mac)] as const] : [];
    }),
  );
  const warnings = claimed.warnings.length === 0 ? {} : { warnings: [...claimed.warnings] };
  if (macs.size === 0) return { answer: { allowed: true, ...warnings }, refusal: undefined };
  const list = networks.elements.map(({ raw }, index) => (macs.has(index) ? { ...raw, mac: macs.get(index) } : raw));
  const path = jsonPointer("metadata", "annotations", NETWORKS_ANNOTATION);
  return {
    answer: { allowed: true, patch: [{ op: "replace", path, value: JSON.stringify(list) }], ...warnings },
    refusal: undefined,
  };
}

function requested(element: NetworkElement, index: number): RequestedInterface {
  return {
    index,
    name: element.interface,
    network: element.network,
    mac: element.mac,
    eligible: true,
    absent: false,
  };
}
