import { parseMac } from "../../api/mac.ts";
import { type JsonPatchOp, jsonPointer } from "../../kube/client/json-patch.ts";
import { textAt } from "../../kube/json-path.ts";
import type { AdmissionRequest } from "../../kube/server/admission-server.ts";
import { isOptedOut, isReceiver, requestMatters, stopsWaiting } from "../objects/guest-changes.ts";
import { guestInterfaces, INSTANCE_SPEC, INTERFACES, VM_TEMPLATE_SPEC } from "../objects/guest-interfaces.ts";
import { machineOf } from "../objects/listed-macs.ts";
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
import type { StartRequest } from "./run-exclusively.ts";
import { refusalOfPlugIn, reviewInstance } from "./start-review.ts";

/**
 * /mutate-virtualmachines and /mutate-virtualmachineinstances: what has an interface without an address gets one, what
 * asks for one gets it claimed. A VM that waits for a live migration no longer is judged like a new one. Any other update
 * is decided against request.oldObject. An object that is being deleted, opts out, has no interfaces of ours or changes
 * none is answered without looking any further.
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
  const { object } = request;
  if (request.operation !== "CREATE" && request.operation !== "UPDATE") return UNCHANGED;
  if (textAt(object, "metadata", "deletionTimestamp") !== "") return UNCHANGED;
  return isOptedOut(object) ? reviewOptedOut(kind, request, parts, signal) : decide(kind, request, parts, signal);
}

/** The object may do without the pool's addresses, and not without a claim for its own. */
async function reviewOptedOut(
  kind: keyof typeof GUESTS,
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const answer = await mayOptOut(request.namespace ?? "", parts, signal);
  if (answer === true) return UNCHANGED;
  return answer === false ? decide(kind, request, parts, signal) : denied(answer);
}

function decide(
  kind: keyof typeof GUESTS,
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Decision | Promise<Decision> {
  const { object, oldObject } = request;
  if (kind === "VirtualMachineInstance" && machineOf(object) !== undefined)
    return reviewInstance(request, parts, signal);
  const { specPath, interfaces: pointer } = GUESTS[kind];
  const interfaces = guestInterfaces(object, specPath);
  const before = guestInterfaces(oldObject, specPath);
  if (!requestMatters({ object, oldObject, interfaces, before })) return UNCHANGED;

  const ref = objectOfRequest(kind, request);
  const judgedAnew = stopsWaiting({ object, oldObject });
  const plan = planInterfaces({
    ref,
    field: "macAddress",
    interfaces,
    before,
    claimedBefore: !isOptedOut(oldObject),
    judgedAnew,
    perNetwork: parts.networks.scopeIn(ref.namespace) === "Network",
  });
  if (!plan.ok) return denied(plan.refusal);
  const steps = isOptedOut(object) ? plan.steps.filter(({ action }) => action === "claim") : plan.steps;
  if (steps.length === 0) return UNCHANGED;
  const claim = async (): Promise<Decision> => {
    // After the migration the VM that was received still has the addresses, and must not start beside this one.
    const receiver = isReceiver(object) || (judgedAnew && (await parts.hasReceived(ref, signal).catch(() => false)));
    const asked = { ref, receiver, judgedAnew, field: "macAddress", dryRun: request.dryRun } as const;
    const result = await carryOut({ ...plan, steps }, asked, parts, signal);
    if (!result.ok) return denied(result.refusal);
    const patch = [...result.macs].map(([index, value]): JsonPatchOp => {
      return { op: "add", path: `${pointer}/${index}/macAddress`, value };
    });
    return admitted(patch, result.warnings);
  };
  const mayPlugIn = kind === "VirtualMachine" && request.operation === "UPDATE" && !isReceiver(object);
  const plugged = mayPlugIn ? pluggedIn(plan.steps, before) : [];
  return plugged.length === 0 ? claim() : judgePlugIn(claim, { ref, interfaces: plugged }, request, parts, signal);
}

/** Asked twice: before anything is claimed, which a refusal would leave behind, and once others see that it is. */
async function judgePlugIn(
  claim: () => Promise<Decision>,
  plugIn: Omit<StartRequest, "dryRun" | "waits">,
  { dryRun }: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const early = await refusalOfPlugIn({ ...plugIn, dryRun: true, waits: false }, parts, signal);
  if (early !== undefined) return denied(early);
  const decision = await claim();
  if (!decision.answer.allowed || dryRun) return decision;
  const refusal = await refusalOfPlugIn({ ...plugIn, dryRun, waits: false }, parts, signal);
  return refusal === undefined ? decision : denied(refusal);
}

/**
 * New interfaces with an address that they ask for, and those that move to another network with their address. One that
 * changes its address gets it when its VM starts again.
 */
function pluggedIn(steps: readonly InterfaceStep[], before: readonly RequestedInterface[]): StartRequest["interfaces"] {
  return steps.flatMap((step) => {
    const old = step.action === "claim" ? before.find(({ name }) => name === step.to.name) : undefined;
    const moves =
      old !== undefined && step.action === "claim" && parseMac(old.mac) === step.mac && old.network !== step.to.network;
    if (step.action !== "claim" || (old !== undefined && !moves)) return [];
    return [{ mac: step.mac, name: step.to.name, network: step.to.network }];
  });
}
