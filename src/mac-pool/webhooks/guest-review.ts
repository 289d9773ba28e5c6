import { formatMac, type Mac } from "../../api/mac.ts";
import { VM_WEBHOOK } from "../../api/names.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-server.ts";
import { type JsonPatchOp, jsonPointer } from "../../kube/client/json-patch.ts";
import { type InterfaceStep, planInterfaces, type RequestedInterface } from "../core/interface-plan.ts";
import type { Party } from "../core/party.ts";
import type { StartRequest } from "../ledger/start-gate.ts";
import { guestInterfaces, INSTANCE_SPEC, INTERFACES, VM_TEMPLATE_SPEC } from "../objects/guest-interfaces.ts";
import { WAIT_AS_RECEIVER } from "../objects/holders.ts";
import { at, textAt } from "../objects/json-path.ts";
import { type AdmissionParts, askLedger, type Decision, denied, partyOfRequest, UNCHANGED } from "./decision.ts";
import { refusalOfPlugIn, reviewInstance } from "./start-review.ts";

/**
 * /mutate-virtualmachines and /mutate-virtualmachineinstances: what has an interface without an address gets one, what
 * asks for one gets it claimed. An update is decided against request.oldObject; an object that is being deleted, opts
 * out or has no interfaces of ours is answered without looking any further.
 */

const GUESTS = {
  VirtualMachine: guest(VM_TEMPLATE_SPEC),
  VirtualMachineInstance: guest(INSTANCE_SPEC),
} as const;

/** Where an object has its spec, and where its interfaces are for a patch. */
interface Guest {
  readonly specPath: readonly string[];
  readonly interfaces: string;
}

function guest(specPath: readonly string[]): Guest {
  return { specPath, interfaces: jsonPointer(...specPath, ...INTERFACES) };
}

export function reviewGuest(
  kind: keyof typeof GUESTS,
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Decision | Promise<Decision> {
  const { object, oldObject } = request;
  if (request.operation !== "CREATE" && request.operation !== "UPDATE") return UNCHANGED;
  if (isOptedOut(object) || textAt(object, "metadata", "deletionTimestamp") !== "") return UNCHANGED;
  if (kind === "VirtualMachineInstance" && isOfMachine(object)) return reviewInstance(request, parts, signal);
  const { specPath, interfaces: pointer } = GUESTS[kind];
  const interfaces = guestInterfaces(object, specPath);
  if (interfaces.length === 0) return UNCHANGED;

  const party = partyOfRequest(kind, request);
  const before = request.operation === "UPDATE" ? guestInterfaces(oldObject, specPath) : [];
  const plan = planInterfaces({
    party,
    field: "macAddress",
    interfaces,
    before,
    claimedBefore: !isOptedOut(oldObject),
  });
  if (!plan.ok) return denied(plan.refusal);
  if (plan.steps.length === 0) return UNCHANGED;
  const claim = (): Promise<Decision> => carryOut(plan, party, pointer, request, parts, signal);
  const mayPlugIn = kind === "VirtualMachine" && request.operation === "UPDATE" && !isReceiver(object);
  const plugged = mayPlugIn ? pluggedIn(plan.steps, before) : [];
  return plugged.length === 0 ? claim() : judgePlugIn(claim, { party, interfaces: plugged }, request, parts, signal);
}

/** Asked twice: before anything is claimed, which a refusal would leave behind, and once others see that it is. */
async function judgePlugIn(
  claim: () => Promise<Decision>,
  plugIn: Omit<StartRequest, "dryRun">,
  { dryRun }: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const early = await refusalOfPlugIn({ ...plugIn, dryRun: true }, parts, signal);
  if (early !== undefined) return denied(early);
  const decision = await claim();
  if (!decision.answer.allowed || dryRun) return decision;
  const refusal = await refusalOfPlugIn({ ...plugIn, dryRun }, parts, signal);
  return refusal === undefined ? decision : denied(refusal);
}

/** New interfaces with an address that they ask for. One that changes its address gets it when its VM starts again. */
function pluggedIn(steps: readonly InterfaceStep[], before: readonly RequestedInterface[]): StartRequest["interfaces"] {
  return steps.flatMap((step) => {
    if (step.action !== "claim" || before.some(({ name }) => name === step.to.name)) return [];
    return [{ mac: step.mac, name: step.to.name, network: step.to.network }];
  });
}

async function carryOut(
  { steps, listed }: { readonly steps: readonly InterfaceStep[]; readonly listed: ReadonlySet<Mac> },
  party: Party,
  pointer: string,
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const wanted = steps.filter((step) => step.action !== "restore");
  const claimed = await askLedger(
    {
      party,
      wishes: wanted.map((step) => ({
        interface: step.to.name,
        network: step.to.network,
        mac: step.action === "claim" ? step.mac : undefined,
      })),
      listed,
      receiver: isReceiver(request.object),
      field: "macAddress",
      dryRun: request.dryRun,
    },
    parts,
    signal,
  );
  if (!claimed.ok) return denied(claimed.refusal);
  const patch: JsonPatchOp[] = [];
  let position = 0;
  for (const step of steps) {
    const mac = step.action === "restore" ? step.mac : claimed.macs[position++];
    if (step.action === "claim" || mac === undefined) continue;
    patch.push({ op: "add", path: `${pointer}/${step.to.index}/macAddress`, value: formatMac(mac) });
  }
  const { warnings } = claimed;
  const answer = {
    allowed: true as const,
    ...(patch.length > 0 && { patch }),
    ...(warnings.length > 0 && { warnings }),
  };
  return { answer, refusal: undefined };
}

function isReceiver(object: unknown): boolean {
  return textAt(object, "spec", "runStrategy") === WAIT_AS_RECEIVER;
}

/** The label that steers a namespace opts a single object out as well. */
function isOptedOut(object: unknown): boolean {
  return textAt(object, "metadata", "labels", VM_WEBHOOK) === "ignore";
}

/** The VM has the addresses, and had them claimed when it was written. */
function isOfMachine(object: unknown): boolean {
  const owners = at(object, "metadata", "ownerReferences");
  return Array.isArray(owners) && owners.some((owner) => textAt(owner, "kind") === "VirtualMachine");
}
