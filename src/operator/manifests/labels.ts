/** Labels of every applied object, and the one of their namespace. Pure. */

import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import {
  LABEL_APP_VERSION,
  LABEL_COMPONENT,
  LABEL_MANAGED_BY,
  LABEL_PART_OF,
  LABEL_PROMETHEUS,
  LABEL_VERSION,
  MANAGED_BY,
} from "../../api/names.ts";
import type { NetworkAddonsConfig } from "../../api/network-addons-config.ts";
import type { ObjectMeta } from "../../api/object-meta.ts";
import type { KubeObject, OwnerReference } from "../../kube/client/resource.ts";

/** By which a namespace says which pods it takes. */
export const ENFORCE_LABEL = "pod-security.kubernetes.io/enforce";
/** The level that pods with access to their node need. */
export const NODE_ACCESS_LEVEL = "privileged";
const MAX_LABEL_VALUE = 63;

export interface Decoration {
  readonly version: string;
  /** Labels of the NetworkAddonsConfig: HCO puts component, part-of and version there. */
  readonly configLabels: ObjectMeta["labels"];
  readonly owner: OwnerReference | undefined;
}

/** Undefined for a configuration that is not stored. */
export function ownerReferenceTo({ metadata: { name = "", uid } }: NetworkAddonsConfig): OwnerReference | undefined {
  if (uid === undefined) return undefined;
  const { kind } = NETWORK_ADDONS_CONFIGS;
  const apiVersion = apiVersionOf(NETWORK_ADDONS_CONFIGS);
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** A text as a legal label value: other characters become `_`, at most 63 characters, letters or digits at both ends. */
export function labelValue(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_.-]/g, "_")
    .slice(0, MAX_LABEL_VALUE)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
}

/** What to do where the namespace has no such label or another level. */
export function labelCommand(namespace: string): string {
  return `Run ${enforceCommand(namespace)}`;
}

export function enforceCommand(namespace: string): string {
  return `kubectl label namespace ${namespace} --overwrite ${ENFORCE_LABEL}=${NODE_ACCESS_LEVEL}`;
}

/** Adds labels and the owner reference. Pod templates get the relationship labels too. */
export function decorate(object: KubeObject, decoration: Decoration, options: { readonly owned: boolean }): KubeObject {
  const own = object.metadata.labels ?? {};
  const relationship = relationshipLabels(decoration);
  const monitored = own["control-plane"] === "mac-controller-manager" ? "false" : "true";
  const labels = {
    ...own,
    [LABEL_VERSION]: labelValue(decoration.version),
    [LABEL_PROMETHEUS]: monitored,
    ...relationship,
  };
  const owner = options.owned && decoration.owner !== undefined ? { ownerReferences: [decoration.owner] } : {};
  return withTemplateLabels({ ...object, metadata: { ...object.metadata, labels, ...owner } }, relationship);
}

function relationshipLabels({ configLabels = {} }: Decoration): Record<string, string> {
  const partOf = configLabels[LABEL_PART_OF];
  const version = configLabels[LABEL_APP_VERSION];
  return {
    [LABEL_MANAGED_BY]: MANAGED_BY,
    [LABEL_COMPONENT]: configLabels[LABEL_COMPONENT] ?? "network",
    ...(partOf === undefined ? {} : { [LABEL_PART_OF]: partOf }),
    ...(version === undefined ? {} : { [LABEL_APP_VERSION]: version }),
  };
}

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
}

function withTemplateLabels(object: KubeObject, labels: Record<string, string>): KubeObject {
  const spec = object.spec as { readonly template?: Template } | undefined;
  if (spec?.template === undefined) return object;
  const metadata = { ...spec.template.metadata, labels: { ...spec.template.metadata?.labels, ...labels } };
  return { ...object, spec: { ...spec, template: { ...spec.template, metadata } } };
}
