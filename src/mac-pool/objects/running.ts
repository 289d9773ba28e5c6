import { formatMac, type Mac, parseMac } from "../../api/mac.ts";
import { NETWORK_STATUS_ANNOTATION } from "../../api/names.ts";
import { isFinishedPhase, isStartingPhase } from "../../api/phase.ts";
import { type Seat, seatOf } from "../../api/seen-elsewhere.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { at, listAt, textAt } from "../../kube/json-path.ts";
import type { RunningObject } from "../claims/collision.ts";
import { guestInterfaces, INSTANCE_SPEC } from "./guest-interfaces.ts";
import { isLauncher } from "./listed-macs.ts";
import { askedMacs, isFinished, MAX_POD_MACS, podNetworks, readOnce } from "./pod-networks.ts";

/** What is on the network now, in whose name: collision detection compares the addresses. */

/** Addresses that a VMI reports, of the interfaces that are the pool's business, in canonical form. */
export function macsOfRunningInstance(vmi: KubeObject): string[] {
  if (isFinished(vmi) || isWaitingForSync(vmi)) return [];
  const nics = new Map(guestInterfaces(vmi, INSTANCE_SPEC).map((nic) => [nic.name, nic]));
  return canonical(
    listAt(vmi, "status", "interfaces").flatMap((entry) => {
      const name = textAt(entry, "name");
      return name === "" || nics.get(name)?.eligible === false ? [] : [textAt(entry, "mac")];
    }),
  );
}

/** Addresses that a pod asks for and those that multus has given it. A launcher has its VMI's, and does not count. */
export function macsOfRunningPod(pod: KubeObject): string[] {
  if (isLauncher(pod) || isFinished(pod)) return [];
  return [...new Set([...askedMacs(pod), ...attachmentsOfPod(pod)].map(({ mac }) => formatMac(mac)))];
}

/** An attachment as multus reports it. */
interface ReportedAttachment {
  readonly mac: Mac;
  readonly interface: string;
  readonly network: string;
}

/**
 * What multus has attached to a pod, on the network until multus or its dynamic networks controller takes it back,
 * whatever the pod asks for by now. A launcher has its VMI's. Anybody who may write the pod writes this text too.
 */
export function attachmentsOfPod(pod: KubeObject): readonly ReportedAttachment[] {
  return isLauncher(pod) || isFinished(pod) ? [] : networkStatus(pod).attachments;
}

/**
 * Whether multus lists what is attached to a pod, and an address is not among it: what the pod asks for is not attached yet, or
 * not any more. Not every plugin tells the address of its interface.
 */
export function isNotAttached(mac: Mac, pod: KubeObject): boolean {
  const { attachments, tellsAll } = networkStatus(pod);
  return tellsAll && attachments.every((attachment) => attachment.mac !== mac);
}

const networkStatus = readOnce(networkStatusOf, (pod) => {
  const all = statusEntries(pod);
  const secondary = all.filter(isSecondary);
  const attachments = secondary.slice(0, MAX_POD_MACS).flatMap((entry): readonly ReportedAttachment[] => {
    const mac = parseMac(textAt(entry, "mac"));
    const network = `multus ${textAt(entry, "name")}`;
    return mac === undefined ? [] : [{ mac, interface: textAt(entry, "interface"), network }];
  });
  return { attachments, tellsAll: all.length > 0 && attachments.length === secondary.length };
});

export function attachedMacsOfPod(pod: KubeObject): readonly Mac[] {
  return attachmentsOfPod(pod).map(({ mac }) => mac);
}

/** The instance of a VM that waits to receive another one: its guest does not run until the migration is over. */
export function isWaitingForSync(vmi: unknown): boolean {
  return textAt(vmi, "status", "phase") === "WaitingForSync";
}

/**
 * Whether a node runs the guest: virt-handler says so. What the status says before can be the word of its author, as virt-api
 * takes a status at creation.
 */
export function runsOnNode(vmi: unknown): boolean {
  const phase = textAt(vmi, "status", "phase");
  const isRunning = phase !== "" && !isStartingPhase(phase) && !isFinishedPhase(phase);
  return isRunning && textAt(vmi, "status", "nodeName") !== "";
}

/** An object that runs, as far as it tells itself. */
type Runs = Omit<RunningObject, "isManaged">;

export function runningInstance(vmi: KubeObject): Runs {
  const state = at(vmi, "status", "migrationState");
  // Source and target of a migration that failed are two again.
  if (at(state, "failed") === true) return { ...identity(vmi), kind: "VirtualMachineInstance", migrations: [] };
  const migrations = [
    textAt(state, "migrationUid"),
    textAt(state, "sourceState", "migrationUID"),
    textAt(state, "targetState", "migrationUID"),
  ];
  return { ...identity(vmi), kind: "VirtualMachineInstance", migrations: migrations.filter((uid) => uid !== "") };
}

export function runningPod(pod: KubeObject): Runs {
  return { ...identity(pod), kind: "Pod", migrations: [] };
}

/** Where an object runs, since when. Undefined while it migrates, or where nobody says it. */
export function seatOfObject(object: KubeObject): Seat | undefined {
  const migration = at(object, "status", "migrationState");
  return seatOf({
    node: textAt(object, "status", "nodeName") || textAt(object, "spec", "nodeName"),
    created: object.metadata.creationTimestamp,
    migrated: migration === undefined ? undefined : textAt(migration, "endTimestamp"),
  });
}

function identity({ metadata: { namespace = "", name = "", uid = "" } }: KubeObject) {
  return { namespace, name, uid };
}

/** What KubeVirt calls an interface that can be unplugged while its VM runs. */
const PLUGGABLE = /^pod[0-9a-f]{11}$/;

/**
 * Interfaces of a running launcher that multus reports, though virt-controller asks for them no more: they were unplugged,
 * and nobody called the CNI plugin.
 */
export function interfacesLeftBehind(pod: KubeObject): { readonly interface: string; readonly network: string }[] {
  const networks = podNetworks(pod);
  if (!isLauncher(pod) || isFinished(pod) || networks.form === "malformed") return [];
  const asked = networks.form === "none" ? [] : networks.elements.map((element) => element.interface);
  return statusEntries(pod)
    .filter(isSecondary)
    .map((entry) => ({ interface: textAt(entry, "interface"), network: textAt(entry, "name") }))
    .filter((one) => PLUGGABLE.test(one.interface) && !asked.includes(one.interface));
}

export function networkStatusOf(pod: unknown): string {
  return textAt(pod, "metadata", "annotations", NETWORK_STATUS_ANNOTATION);
}

/** What multus says of each attachment. */
function statusEntries(pod: unknown): unknown[] {
  const text = networkStatusOf(pod);
  if (text === "") return [];
  try {
    const entries: unknown = JSON.parse(text);
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}

/** The default network is the cluster's own plugin's. */
const isSecondary = (entry: unknown): boolean => at(entry, "default") !== true;

function canonical(texts: readonly string[]): string[] {
  const macs = texts.map((text): Mac | undefined => (text === "" ? undefined : parseMac(text)));
  return [...new Set(macs.flatMap((mac) => (mac === undefined ? [] : [formatMac(mac)])))];
}
