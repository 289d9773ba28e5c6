import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../api/names.ts";
import type { KubeObject, ObjectMeta } from "../../kube/client/resource.ts";
import { INSTANCE_SPEC, VM_TEMPLATE_SPEC } from "./guest-interfaces.ts";
import { at, listAt } from "./json-path.ts";

/**
 * What the caches keep of other people's objects. A cluster has many pods and large VMs, and the MAC pool looks at their
 * networks only; every reader of the caches has to find its fields here.
 */

const KEPT_LABELS = ["kubevirt.io", POD_WEBHOOK, VM_WEBHOOK];
const KEPT_ANNOTATIONS = [NETWORKS_ANNOTATION, NETWORK_STATUS_ANNOTATION];

export function slimPod(pod: KubeObject): KubeObject {
  return {
    metadata: slimMeta(pod.metadata, KEPT_ANNOTATIONS),
    spec: { nodeName: at(pod, "spec", "nodeName") },
    status: { phase: at(pod, "status", "phase") },
  };
}

export function slimMachine(vm: KubeObject): KubeObject {
  return {
    metadata: slimMeta(vm.metadata, []),
    spec: { runStrategy: at(vm, "spec", "runStrategy"), template: { spec: slimGuest(at(vm, ...VM_TEMPLATE_SPEC)) } },
  };
}

export function slimInstance(vmi: KubeObject): KubeObject {
  const interfaces = listAt(vmi, "status", "interfaces").map((entry) => ({
    name: at(entry, "name"),
    mac: at(entry, "mac"),
  }));
  return {
    metadata: slimMeta(vmi.metadata, []),
    spec: slimGuest(at(vmi, ...INSTANCE_SPEC)),
    status: {
      phase: at(vmi, "status", "phase"),
      nodeName: at(vmi, "status", "nodeName"),
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
    sourceState: uidOf("sourceState"),
    targetState: uidOf("targetState"),
  };
}

function slimGuest(spec: unknown): object {
  const interfaces = listAt(spec, "domain", "devices", "interfaces");
  return { domain: { devices: { interfaces } }, networks: listAt(spec, "networks") };
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
  const kept: Record<string, string> = {};
  for (const key of keys) {
    const value = entries[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}
