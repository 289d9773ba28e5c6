import {
  type LabelRequirement,
  meets,
  OBJECT_OPT_OUT_LABEL,
  POD_NAMESPACES,
  RUN_LEVELS,
  VM_NAMESPACES,
} from "../../../api/mac-pool-scope.ts";
import type { Caches } from "../../cluster/caches.ts";
import type { Pool } from "../../pools/pool.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { NamespaceView } from "../rest/views.ts";

/** Which namespaces are managed, and by which label. */
export function namespaceViews(names: readonly string[], caches: Caches): ListView<NamespaceView> {
  const items = names.flatMap((name) => namespaceView(name, caches) ?? []);
  return { items, total: items.length };
}

/** Undefined where there is no such namespace. */
export function namespaceView(name: string, caches: Caches): NamespaceView | undefined {
  if (caches.namespaces.get(name) === undefined) return undefined;
  const labels = caches.labelsOf(name);
  const isExcluded = caches.excludedNamespaces.includes(name);
  const [vms, pods] = [judge(labels, VM_NAMESPACES, isExcluded), judge(labels, POD_NAMESPACES, isExcluded)];
  const pool = caches.index.poolFor(labels);
  const limit = pool?.settings.maxAddressesPerNamespace;
  return {
    name,
    vms: vms.managed,
    pods: pods.managed,
    objectsMayOptOut: caches.index.mayOptOut(labels),
    because: { vms: vms.because, pods: pods.because, objects: optOutBecause(labels, pool) },
    ...(pool === undefined ? {} : { pool: pool.name }),
    claims: caches.index.ownedBy(name),
    ...(limit === undefined ? {} : { limit }),
  };
}

export function namespaceNames({ namespaces }: Caches): string[] {
  return namespaces
    .list()
    .flatMap(({ metadata }) => metadata.name ?? [])
    .sort();
}

function judge(
  labels: Readonly<Record<string, string>>,
  own: LabelRequirement,
  isExcluded: boolean,
): { readonly managed: boolean; readonly because: string } {
  if (isExcluded) return { managed: false, because: "the namespace of the MAC pool and kube-system are never managed" };
  const level = RUN_LEVELS.find((requirement) => !meets(labels, requirement));
  if (level !== undefined) return { managed: false, because: describe(labels, level.key) };
  return { managed: meets(labels, own), because: describe(labels, own.key) };
}

function optOutBecause(labels: Readonly<Record<string, string>>, pool: Pool | undefined): string {
  const isPools = labels[OBJECT_OPT_OUT_LABEL] === undefined && pool?.settings.objectOptOut !== undefined;
  return isPools
    ? `objectOptOut of MACPool ${pool.name} is ${pool.settings.objectOptOut}`
    : describe(labels, OBJECT_OPT_OUT_LABEL);
}

function describe(labels: Readonly<Record<string, string>>, key: string): string {
  const value = labels[key];
  return value === undefined ? `no label ${key}` : `label ${key}=${value}`;
}
