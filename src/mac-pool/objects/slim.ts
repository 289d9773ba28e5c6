import { SECONDARY_NETWORKS } from "../../api/mac-pool-scope.ts";
import {
  FORMER_FINALIZER,
  NETWORK_STATUS_ANNOTATION,
  NETWORKS_ANNOTATION,
  POD_WEBHOOK,
  VM_WEBHOOK,
} from "../../api/names.ts";
import type { KubeObject, ObjectMeta } from "../../kube/client/resource.ts";
import { at, fieldOf, listAt } from "../../kube/json-path.ts";
import { shortText } from "../../kube/short-text.ts";
import type { SharedValues } from "../cluster/shared-values.ts";
import { INSTANCE_SPEC, VM_TEMPLATE_SPEC } from "./guest-interfaces.ts";
import { isLauncher, podMacs } from "./listed-macs.ts";
import { macsOfRunningPod } from "./running.ts";

/**
 * What the caches keep of other people's objects. The MAC pool looks only at their networks, so 50,000 VMs of 2.5 kB need
 * 35 MB instead of 132. Every reader of the caches has to find its fields here.
 */

const KEPT_LABELS = ["kubevirt.io", POD_WEBHOOK, VM_WEBHOOK];
const KEPT_ANNOTATIONS = [NETWORKS_ANNOTATION, NETWORK_STATUS_ANNOTATION];

/** A namespace and a name of something, with what is between them. */
const MAX_CHARS = 320;
/** Twice as many interfaces as an object may have that gets addresses. */
const MAX_ENTRIES = 256;

export function slimPod(pod: KubeObject): KubeObject {
  return {
    metadata: slimMeta(pod.metadata, KEPT_ANNOTATIONS),
    spec: { nodeName: at(pod, "spec", "nodeName") },
    status: { phase: at(pod, "status", "phase") },
  };
}

/**
 * Whether a pod lists an address or belongs to an instance. Most pods do neither, though multus annotates every one:
 * 50,000 of them would take 37 MB.
 */
export function concernsPool(pod: KubeObject): boolean {
  const ofInstance = pod.metadata.ownerReferences?.some(({ kind }) => kind === "VirtualMachineInstance") ?? false;
  return ofInstance || isLauncher(pod) || podMacs(pod).length > 0 || macsOfRunningPod(pod).length > 0;
}

export function slimMachine(vm: KubeObject, shared: SharedValues): KubeObject {
  const runStrategy = shared.text(at(vm, "spec", "runStrategy"));
  const { finalizers } = vm.metadata;
  const metadata = slimMeta(vm.metadata, []);
  return {
    metadata: finalizers?.includes(FORMER_FINALIZER) ? { ...metadata, finalizers: [FORMER_FINALIZER] } : metadata,
    spec: { runStrategy, template: { spec: slimGuest(at(vm, ...VM_TEMPLATE_SPEC), shared) } },
  };
}

export function slimInstance(vmi: KubeObject, shared: SharedValues): KubeObject {
  const interfaces = measured(listAt(vmi, "status", "interfaces")).map((entry) => ({
    name: shared.text(at(entry, "name")),
    mac: at(entry, "mac"),
  }));
  return {
    metadata: slimMeta(vmi.metadata, []),
    spec: slimGuest(at(vmi, ...INSTANCE_SPEC), shared),
    status: {
      phase: at(vmi, "status", "phase"),
      nodeName: shared.text(at(vmi, "status", "nodeName")),
      interfaces,
      migrationState: slimMigration(at(vmi, "status", "migrationState")),
    },
  };
}

export function slimNamespace(namespace: KubeObject): KubeObject {
  const { name, uid, resourceVersion, labels } = namespace.metadata;
  return { metadata: { name, uid, resourceVersion, labels } };
}

function slimMigration(state: unknown): object | undefined {
  if (state === undefined) return undefined;
  const uidOf = (side: string): object => ({ migrationUID: at(state, side, "migrationUID") });
  return {
    migrationUid: at(state, "migrationUid"),
    failed: at(state, "failed"),
    endTimestamp: at(state, "endTimestamp"),
    sourceState: uidOf("sourceState"),
    targetState: uidOf("targetState"),
  };
}

function slimGuest(spec: unknown, shared: SharedValues): object {
  const nics = measured(listAt(spec, "domain", "devices", "interfaces"));
  const interfaces = nics.map((nic) => slimInterface(nic, shared));
  const networks = measured(listAt(spec, "networks")).map((network) => slimNetwork(network, shared));
  return { domain: { devices: { interfaces } }, networks };
}

/**
 * What somebody writes without measure, in a measure: 200 kB of a VM, which may have 1.5 MB. Anything else as it is, since a copy
 * of an object takes more memory than the object.
 */
function measured<T>(value: T): T {
  return isMeasured(value) ? value : (cut(value) as T);
}

function isMeasured(value: unknown): boolean {
  if (typeof value === "string") return value.length <= MAX_CHARS;
  if (typeof value !== "object" || value === null) return true;
  const values = Object.values(value);
  return values.length <= MAX_ENTRIES && values.every(isMeasured);
}

function cut(value: unknown): unknown {
  if (typeof value === "string") return shortText(value, MAX_CHARS);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map(cut);
  const entries = Object.entries(value).slice(0, MAX_ENTRIES);
  return Object.fromEntries(entries.map(([key, each]) => [key, cut(each)]));
}

function slimInterface(nic: unknown, shared: SharedValues): object {
  const slim: Record<string, unknown> = {
    name: shared.text(fieldOf(nic, "name")),
    macAddress: fieldOf(nic, "macAddress"),
  };
  for (const field of ["masquerade", "state"]) {
    const value = fieldOf(nic, field);
    if (value !== undefined) slim[field] = shared.text(value);
  }
  return slim;
}

/** A network is the same in all VMs that are on it. */
function slimNetwork(network: unknown, shared: SharedValues): object {
  const slim: Record<string, unknown> = {};
  for (const field of ["name", "pod", ...SECONDARY_NETWORKS]) {
    const value = fieldOf(network, field);
    if (value !== undefined) slim[field] = value;
  }
  return shared.object(slim);
}

function slimMeta(meta: ObjectMeta, annotations: readonly string[]): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences } = meta;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    deletionTimestamp,
    ownerReferences,
    labels: pick(meta.labels, KEPT_LABELS),
    annotations: pick(meta.annotations, annotations),
  };
}

function pick(entries: Readonly<Record<string, string>> = {}, keys: readonly string[]): Record<string, string> {
  let kept: Record<string, string> | undefined;
  for (const key of keys) {
    const value = entries[key];
    if (value === undefined) continue;
    kept ??= {};
    kept[key] = value;
  }
  return kept ?? NOTHING;
}

const NOTHING: Record<string, string> = {};
