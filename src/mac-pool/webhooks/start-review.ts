import { parseMac } from "../../api/mac.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-server.ts";
import type { StartRequest } from "../ledger/start-gate.ts";
import { guestInterfaces, INSTANCE_SPEC } from "../objects/guest-interfaces.ts";
import { instanceParty } from "../objects/holders.ts";
import { textAt } from "../objects/json-path.ts";
import { type AdmissionParts, type Decision, denied, UNCHANGED } from "./decision.ts";

/** KubeVirt sets it on the VMI that receives a live migration: the addresses are those of the VMI that it becomes. */
const MIGRATION_TARGET_ANNOTATION = "kubevirt.io/create-migration-target";

/**
 * /mutate-virtualmachineinstances for a VMI of a VM, which has its addresses already: whether the VM may start. Only where
 * the policy of the pool is DenyRunning; a question that can't be answered does not keep a VM from starting.
 */
export async function reviewStart(
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object, dryRun } = request;
  const { namespace } = request;
  if (request.operation !== "CREATE" || object === null || namespace === undefined) return UNCHANGED;
  try {
    const labels = await parts.namespaces.labelsOf(namespace, signal);
    const policy = labels === undefined ? undefined : parts.index.poolFor(labels)?.settings.conflictPolicy;
    if (policy !== "DenyRunning") return UNCHANGED;
    const party = { ...instanceParty(object), namespace };
    if (textAt(object, "metadata", "annotations", MIGRATION_TARGET_ANNOTATION) === "true") return UNCHANGED;
    if (party.name === undefined || parts.isReceiver(namespace, party.name)) return UNCHANGED;
    const refusal = await parts.starts.refusal({ party, interfaces: interfacesOf(object), dryRun }, signal);
    return refusal === undefined ? UNCHANGED : denied(refusal);
  } catch (error) {
    parts.log.error({ err: error, namespace }, "a start was not checked");
    const warning = "the MAC pool could not check whether another holder of these MAC addresses is running.";
    return { answer: { allowed: true, warnings: [warning] }, refusal: undefined };
  }
}

function interfacesOf(instance: unknown): StartRequest["interfaces"] {
  return guestInterfaces(instance, INSTANCE_SPEC).flatMap((nic) => {
    const mac = nic.eligible && nic.mac !== "" ? parseMac(nic.mac) : undefined;
    return mac === undefined ? [] : [{ mac, name: nic.name, network: nic.network }];
  });
}
