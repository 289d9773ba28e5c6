import { type Mac, parseMac } from "../../api/mac.ts";
import type { ConflictPolicy } from "../../api/mac-pool.ts";
import { textAt } from "../../kube/json-path.ts";
import type { AdmissionRequest } from "../../kube/server/admission-server.ts";
import { refusalOfInterfaces, refusalOfObject } from "../claims/name-lengths.ts";
import { describeObject, type ObjectReference } from "../claims/owner.ts";
import { type Refusal, unavailable } from "../claims/refusals.ts";
import { guestInterfaces, INSTANCE_SPEC } from "../objects/guest-interfaces.ts";
import { type AttachedMac, instanceOwner } from "../objects/listed-macs.ts";
import { type AdmissionParts, askLedger, type Decision, denied, objectOfRequest, UNCHANGED } from "./decision.ts";
import type { StartRequest } from "./run-exclusively.ts";

/** KubeVirt sets it on the VMI of a VM that waits to receive a live migration. It says nothing by itself: anybody may write it. */
const MIGRATION_TARGET_ANNOTATION = "kubevirt.io/create-migration-target";

/**
 * /mutate-virtualmachineinstances for a VMI of a VM, which has its addresses already: whether the VM may start, or get
 * what is plugged into it while it runs. A VM that starts between the review of its own change and the moment it is stored
 * is judged by the latter. Only where the policy of its pool or of another owner's is DenyRunning, or where a VM has the address to receive a live
 * migration; a question that can't be answered does not keep a VM from running.
 */
export async function reviewInstance(
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Decision> {
  const { object, oldObject, dryRun, namespace } = request;
  if (object === null || namespace === undefined) return UNCHANGED;
  const ref = { ...instanceOwner(object), namespace };
  if (ref.name === undefined) return UNCHANGED;
  try {
    const had = new Set(interfacesOf(oldObject).map(({ mac }) => mac));
    const gained = interfacesOf(object).filter(({ mac }) => !had.has(mac));
    const unnamable = refusalOfObject(ref) ?? refusalOfInterfaces(ref, gained);
    if (unnamable !== undefined) return denied(unnamable);
    const conflict = await refusalOfUnlisted({ ref, gained, request }, parts, signal);
    if (conflict !== undefined) return denied(conflict);
    const policy = await policyOf(namespace, parts, signal);
    const interfaces = gained.filter(({ mac }) => isExclusive(policy, mac, parts));
    if (interfaces.length === 0) return UNCHANGED;
    const what = request.operation === "CREATE" ? "start" : "plug-in";
    const waits = textAt(object, "metadata", "annotations", MIGRATION_TARGET_ANNOTATION) === "true";
    const refusal = await parts.starts.refusal({ ref, interfaces, dryRun, waits }, what, signal);
    return refusal === undefined ? UNCHANGED : denied(refusal);
  } catch (error) {
    parts.log.error(
      { err: error, vm: describeObject(ref) },
      "could not check whether another holder of the addresses is running",
    );
    parts.onUnjudged(ref);
    const warning = "the MAC pool could not check whether another holder of these MAC addresses is running.";
    return { answer: { allowed: true, warnings: [warning] }, refusal: undefined };
  }
}

interface Instance {
  /** The VM that it says has made it. */
  readonly ref: ObjectReference;
  readonly gained: StartRequest["interfaces"];
  readonly request: AdmissionRequest;
}

/**
 * An instance has the addresses of its VM if that VM exists and lists them. Any others are claimed: for the VM, which may
 * have given them up a moment ago, or for the instance itself where its author made the VM up.
 */
async function refusalOfUnlisted(
  { ref, gained, request }: Instance,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const { cached, live } = parts.macsOfMachine;
  const perNetwork = parts.networks.scopeIn(ref.namespace) === "Network";
  const lists = (known: readonly AttachedMac[], { mac, network }: AttachedMac): boolean =>
    known.some((each) => each.mac === mac && (!perNetwork || each.network === network));
  const known = cached(ref);
  if (known !== undefined && gained.every((nic) => lists(known, nic))) return undefined;
  const listed = await live(ref, signal);
  const unlisted = gained.filter((nic) => !lists(listed ?? [], nic));
  if (unlisted.length === 0) return undefined;
  const claimed = await askLedger(
    {
      ref: listed === undefined ? objectOfRequest("VirtualMachineInstance", request) : ref,
      wantedInterfaces: unlisted.map(({ mac, name, network }) => ({ interface: name, network, mac, had: false })),
      listed: new Set(gained.map(({ mac }) => mac)),
      receiver: false,
      judgedAnew: false,
      field: "macAddress",
      dryRun: request.dryRun,
    },
    parts,
    signal,
  );
  return claimed.ok ? undefined : claimed.refusal;
}

/** A plug-in that can't be judged is refused, as an update is whose addresses can't be claimed. */
export async function refusalOfPlugIn(
  request: StartRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const { namespace } = request.ref;
  try {
    const policy = await policyOf(namespace, parts, signal);
    const interfaces = request.interfaces.filter(({ mac }) => isExclusive(policy, mac, parts));
    return await parts.starts.refusalOfPlugIn({ ...request, interfaces }, signal);
  } catch (error) {
    parts.log.error({ err: error, namespace }, "could not check a hot-plugged interface");
    return unavailable("the API server did not tell which VMs are running");
  }
}

async function policyOf(
  namespace: string,
  { namespaces, index }: AdmissionParts,
  signal: AbortSignal,
): Promise<ConflictPolicy | undefined> {
  const labels = await namespaces.labelsOf(namespace, signal);
  return labels && index.poolFor(labels)?.settings.conflictPolicy;
}

/** Whether only one owner of the address may run: by the own policy or that of another owner, or beside a receiver. */
function isExclusive(policy: ConflictPolicy | undefined, mac: Mac, parts: AdmissionParts): boolean {
  if (policy === "DenyRunning") return true;
  const owners = parts.ownersOf(mac);
  if (owners.length < 2) return false;
  return owners.some(
    ({ receiver, namespace }) => (receiver && policy === "Deny") || parts.policyIn(namespace) === "DenyRunning",
  );
}

function interfacesOf(instance: unknown): StartRequest["interfaces"] {
  return guestInterfaces(instance, INSTANCE_SPEC).flatMap((nic) => {
    const mac = nic.eligible && nic.mac !== "" ? parseMac(nic.mac) : undefined;
    return mac === undefined ? [] : [{ mac, name: nic.name, network: nic.network }];
  });
}
