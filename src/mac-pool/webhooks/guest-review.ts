import { formatMac, type Mac } from "../../api/mac.ts";
import { VM_WEBHOOK } from "../../api/names.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../kube/admission/admission-server.ts";
import { type JsonPatchOp, jsonPointer } from "../../kube/client/json-patch.ts";
import { type InterfaceStep, planInterfaces, type RequestedInterface } from "../core/interface-plan.ts";
import type { Party } from "../core/party.ts";
import { guestInterfaces, INSTANCE_SPEC, INTERFACES, VM_TEMPLATE_SPEC } from "../objects/guest-interfaces.ts";
import { WAIT_AS_RECEIVER } from "../objects/holders.ts";
import { at, textAt, textsAt } from "../objects/json-path.ts";
import { type AdmissionParts, askLedger, type Decision, denied, partyOfRequest, UNCHANGED } from "./decision.ts";
import { reviewStart } from "./start-review.ts";

/**
 * /mutate-virtualmachines and /mutate-virtualmachineinstances: what has an interface without an address gets one, what
 * asks for one gets it claimed. An update is decided against request.oldObject; an object that is being deleted, opts
 * out or has no interfaces of ours is answered without looking any further.
 */

const GUESTS = {
  VirtualMachine: VM_TEMPLATE_SPEC,
  VirtualMachineInstance: INSTANCE_SPEC,
} as const;

export async function reviewGuest(
  kind: keyof typeof GUESTS,
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object, oldObject } = request;
  if (request.operation !== "CREATE" && request.operation !== "UPDATE") return UNCHANGED;
  if (isOptedOut(object) || textAt(object, "metadata", "deletionTimestamp") !== "") return UNCHANGED;
  if (kind === "VirtualMachineInstance" && isOfMachine(object)) return reviewStart(request, parts, signal);
  const specPath = GUESTS[kind];
  const interfaces = guestInterfaces(object, specPath);
  if (interfaces.length === 0) return UNCHANGED;

  const party = partyOfRequest(kind, request);
  const plan = planInterfaces({
    party,
    field: "macAddress",
    interfaces,
    before: request.operation === "UPDATE" ? guestInterfaces(oldObject, specPath) : [],
    claimedBefore: !isOptedOut(oldObject),
  });
  if (!plan.ok) return denied(plan.refusal);
  return carryOut(plan, party, specPath, request, parts, signal);
}

async function carryOut(
  { steps, listed }: { readonly steps: readonly InterfaceStep[]; readonly listed: ReadonlySet<Mac> },
  party: Party,
  specPath: readonly string[],
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
      receiver: textAt(request.object, "spec", "runStrategy") === WAIT_AS_RECEIVER,
      field: "macAddress",
      dryRun: request.dryRun,
    },
    parts,
    signal,
  );
  if (!claimed.ok) return denied(claimed.refusal);
  const patch = steps.flatMap((step): JsonPatchOp[] => {
    if (step.action === "claim") return [];
    const mac = step.action === "restore" ? step.mac : claimed.macs[wanted.indexOf(step)];
    return mac === undefined ? [] : [setMac(specPath, step.to, mac)];
  });
  return { answer: allow(patch, claimed.warnings), refusal: undefined };
}

function setMac(specPath: readonly string[], nic: RequestedInterface, mac: Mac): JsonPatchOp {
  return { op: "add", path: jsonPointer(...specPath, ...INTERFACES, nic.index, "macAddress"), value: formatMac(mac) };
}

function allow(patch: readonly JsonPatchOp[], warnings: readonly string[]): AdmissionAnswer {
  return {
    allowed: true,
    ...(patch.length === 0 ? {} : { patch: [...patch] }),
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
}

/** The label that steers a namespace opts a single object out as well. */
function isOptedOut(object: unknown): boolean {
  return textsAt(object, "metadata", "labels")[VM_WEBHOOK] === "ignore";
}

/** The VM has the addresses, and had them claimed when it was written. */
function isOfMachine(object: unknown): boolean {
  const owners = at(object, "metadata", "ownerReferences");
  return Array.isArray(owners) && owners.some((owner) => textAt(owner, "kind") === "VirtualMachine");
}
