import { parseMac } from "../../api/mac.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-server.ts";
import { type Refusal, unavailable } from "../core/refusals.ts";
import type { StartRequest } from "../ledger/start-gate.ts";
import { guestInterfaces, INSTANCE_SPEC } from "../objects/guest-interfaces.ts";
import { instanceParty } from "../objects/holders.ts";
import { textAt } from "../objects/json-path.ts";
import { type AdmissionParts, type Decision, denied, UNCHANGED } from "./decision.ts";

/** KubeVirt sets it on the VMI that receives a live migration: the addresses are those of the VMI that it becomes. */
const MIGRATION_TARGET_ANNOTATION = "kubevirt.io/create-migration-target";

/**
 * /mutate-virtualmachineinstances for a VMI of a VM, which has its addresses already: whether the VM may start, or get
 * what is plugged into it while it runs. A VM that starts between the review of its own change and the moment it is stored
 * is judged by the latter. Only where the policy of the pool is DenyRunning; a question that can't be answered does not
 * keep a VM from running.
 */
export async function reviewInstance(
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object, oldObject, dryRun, namespace } = request;
  if (object === null || namespace === undefined) return UNCHANGED;
  try {
    if (!(await isExclusive(namespace, parts, signal))) return UNCHANGED;
    const party = { ...instanceParty(object), namespace };
    if (textAt(object, "metadata", "annotations", MIGRATION_TARGET_ANNOTATION) === "true") return UNCHANGED;
    if (party.name === undefined || parts.isReceiver(namespace, party.name)) return UNCHANGED;
    const had = new Set(interfacesOf(oldObject).map(({ mac }) => mac));
    const interfaces = interfacesOf(object).filter(({ mac }) => !had.has(mac));
    const what = request.operation === "CREATE" ? "start" : "plug-in";
    const refusal = await parts.starts.refusal({ party, interfaces, dryRun }, what, signal);
    return refusal === undefined ? UNCHANGED : denied(refusal);
  } catch (error) {
    parts.log.error({ err: error, namespace }, "what runs was not checked");
    const warning = "the MAC pool could not check whether another holder of these MAC addresses is running.";
    return { answer: { allowed: true, warnings: [warning] }, refusal: undefined };
  }
}

/** A plug-in that can't be judged is refused, as an update is whose addresses can't be claimed. */
export async function refusalOfPlugIn(
  request: StartRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const { namespace } = request.party;
  try {
    if (!(await isExclusive(namespace, parts, signal))) return undefined;
    return await parts.starts.refusalOfPlugIn(request, signal);
  } catch (error) {
    parts.log.error({ err: error, namespace }, "an interface to be plugged in was not checked");
    return unavailable("the API server did not say who runs");
  }
}

async function isExclusive(namespace: string, parts: AdmissionParts, signal: AbortSignal): Promise<boolean> {
  const labels = await parts.namespaces.labelsOf(namespace, signal);
  return labels !== undefined && parts.index.poolFor(labels)?.settings.conflictPolicy === "DenyRunning";
}

function interfacesOf(instance: unknown): StartRequest["interfaces"] {
  return guestInterfaces(instance, INSTANCE_SPEC).flatMap((nic) => {
    const mac = nic.eligible && nic.mac !== "" ? parseMac(nic.mac) : undefined;
    return mac === undefined ? [] : [{ mac, name: nic.name, network: nic.network }];
  });
}
