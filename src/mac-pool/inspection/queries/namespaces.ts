import {
  type LabelRequirement,
  meets,
  POD_NAMESPACES,
  RUN_LEVELS,
  VM_NAMESPACES,
} from "../../../api/mac-pool-scope.ts";
import type { Caches } from "../../cluster/caches.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { NamespaceView } from "../rest/views.ts";
import type { Scope } from "./scope.ts";

/** Which namespaces are managed, and by which label. */
export class NamespaceQueries {
  readonly #caches: Caches;

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  list({ namespace }: Scope): ListView<NamespaceView> {
    const names = namespace === undefined ? this.names() : [namespace];
    const items = names.flatMap((name) => this.get(name) ?? []);
    return { items, total: items.length };
  }

  /** Undefined where there is no such namespace. */
  get(name: string): NamespaceView | undefined {
    if (this.#caches.namespaces.get(name) === undefined) return undefined;
    const { index } = this.#caches;
    const labels = this.#caches.labelsOf(name);
    const isExcluded = this.#caches.excludedNamespaces.includes(name);
    const [vms, pods] = [VM_NAMESPACES, POD_NAMESPACES].map((own) => judge(labels, own, isExcluded));
    const pool = index.poolFor(labels);
    const limit = pool?.settings.maxAddressesPerNamespace;
    return {
      name,
      vms: vms?.managed ?? false,
      pods: pods?.managed ?? false,
      because: { vms: vms?.because ?? "", pods: pods?.because ?? "" },
      ...(pool === undefined ? {} : { pool: pool.name }),
      claims: index.ownedBy(name),
      ...(limit === undefined ? {} : { limit }),
    };
  }

  names(): string[] {
    return this.#caches.namespaces
      .list()
      .flatMap(({ metadata }) => metadata.name ?? [])
      .sort();
  }
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

function describe(labels: Readonly<Record<string, string>>, key: string): string {
  const value = labels[key];
  return value === undefined ? `no label ${key}` : `label ${key}=${value}`;
}
