/** How an object in the cluster differs from what was applied, and from what the API server makes of that. Pure. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { appliedKind } from "./applied-kinds.ts";

/** Lists whose elements the API server merges by key. Others may add elements. */
const MERGED_LISTS = new Set([
  "containers",
  "env",
  "finalizers",
  "initContainers",
  "ownerReferences",
  "ports",
  "topologySpreadConstraints",
  "volumeMounts",
  "volumes",
  "webhooks",
]);

/** What others may write into an object that belongs to the operator whole: keepers of certificates, `kubectl rollout restart`, the API server. */
const HARMLESS = [
  /^metadata\./,
  /^webhooks\.\d+\.clientConfig\.caBundle$/,
  /^spec\.template\.metadata\.(labels|annotations)(\.|$)/,
  /^spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy)$/,
];
const NOT_COMPARED = ["apiVersion", "kind", "status"];

type Path = readonly (string | number)[];
type Fields = Readonly<Record<string, unknown>>;

/**
 * Path of the first field of `desired` that has another value in `live`. What others add is no difference. `mayLack`: neither is
 * what `live` does not have at all.
 */
export function changedField(live: unknown, desired: unknown, mayLack = false): string | undefined {
  return changed(live, desired, [], mayLack)?.join(".");
}

/**
 * Path of the first field in which `live` differs from `complete`, which is `wanted` as the API server would store it if nobody
 * had touched it. What `wanted` does not have may differ: everything in an object that others write too, else what does no harm.
 */
export function differingField(live: KubeObject, complete: KubeObject, wanted: KubeObject): string | undefined {
  const isTheirs = appliedKind(wanted).whole ? isHarmless : () => true;
  return first(union(live, complete), (key) =>
    NOT_COMPARED.includes(key)
      ? undefined
      : difference({ live: live[key], complete: complete[key], wanted: wanted[key] }, [key], isTheirs),
  )?.join(".");
}

/** The wanted object, with what others may add to it, to take the place of exactly this `live`. */
export function replacementFor(live: KubeObject, wanted: KubeObject): KubeObject {
  return withHarmless(wanted, live, []) as KubeObject;
}

function changed(live: unknown, desired: unknown, path: Path, mayLack: boolean): Path | undefined {
  if (live === undefined && mayLack) return undefined;
  if (Array.isArray(desired)) return Array.isArray(live) ? changedInList(live, desired, path, mayLack) : path;
  if (desired !== null && typeof desired === "object") {
    if (live === null || typeof live !== "object" || Array.isArray(live)) {
      return live === undefined && Object.keys(desired).length === 0 ? undefined : path;
    }
    return first(Object.entries(desired), ([key, value]) =>
      changed((live as Fields)[key], value, [...path, key], mayLack),
    );
  }
  return desired === undefined || live === desired ? undefined : path;
}

function changedInList(
  live: readonly unknown[],
  desired: readonly unknown[],
  path: Path,
  mayLack: boolean,
): Path | undefined {
  if (MERGED_LISTS.has(String(path.at(-1)))) {
    return first(desired.entries(), ([index, element]) => {
      if (live.some((candidate) => changed(candidate, element, [], mayLack) === undefined)) return undefined;
      const same = sameName(live, element);
      const within = same === undefined ? undefined : changed(same, element, [...path, index], mayLack);
      return within ?? [...path, index];
    });
  }
  if (live.length !== desired.length) return path;
  return first(desired.entries(), ([index, element]) => changed(live[index], element, [...path, index], mayLack));
}

interface Compared {
  readonly live: unknown;
  readonly complete: unknown;
  readonly wanted: unknown;
}

/** Of a list by index. */
function difference(
  { live, complete, wanted }: Compared,
  path: Path,
  isTheirs: (path: Path) => boolean,
): Path | undefined {
  if (wanted === undefined && isTheirs(path)) return undefined;
  const [left, right, asked] = [fieldsOf(live), fieldsOf(complete), fieldsOf(wanted)];
  if (left === undefined || right === undefined) return live === complete ? undefined : path;
  const within = first(union(left, right), (key) =>
    difference({ live: left[key], complete: right[key], wanted: asked?.[key] }, [...path, key], isTheirs),
  );
  // What is empty may mean everything. The API server adds some by default.
  return within ?? (live === undefined && complete !== undefined ? path : undefined);
}

function isHarmless(path: Path): boolean {
  return HARMLESS.some((pattern) => pattern.test(path.join(".")));
}

/** An absent one has no fields, so that the path leads to the first that the other one has. */
function fieldsOf(value: unknown): Fields | undefined {
  if (value === undefined) return {};
  return value !== null && typeof value === "object" ? (value as Fields) : undefined;
}

function withHarmless(wanted: unknown, live: unknown, path: Path): unknown {
  if (wanted === null || typeof wanted !== "object") return wanted;
  if (Array.isArray(wanted)) {
    return wanted.map((element, index) => withHarmless(element, sameName(live, element), [...path, index]));
  }
  const theirs = fieldsOf(live) ?? {};
  const own = Object.entries(wanted).map(([key, value]) => [key, withHarmless(value, theirs[key], [...path, key])]);
  const kept = Object.entries(theirs).filter(([key]) => !Object.hasOwn(wanted, key) && isHarmless([...path, key]));
  return Object.fromEntries([...kept, ...own]);
}

function sameName(live: unknown, wanted: unknown): unknown {
  const name = (element: unknown): unknown => fieldsOf(element)?.name;
  return Array.isArray(live) && name(wanted) !== undefined
    ? live.find((element) => name(element) === name(wanted))
    : undefined;
}

function union(left: object, right: object): Iterable<string> {
  return new Set([...Object.keys(left), ...Object.keys(right)]);
}

function first<T>(items: Iterable<T>, find: (item: T) => Path | undefined): Path | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
