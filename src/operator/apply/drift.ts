/**
 * Whether an object in the cluster has drifted from what was applied. Additions of others (labels, annotations, a second
 * container's environment, a caBundle) are no drift. A different value of an applied field is. Pure.
 */

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

/** True when everything in `desired` is in `live` with the same value. */
export function covers(live: unknown, desired: unknown): boolean {
  return driftedField(live, desired) === undefined;
}

/** Path of the first field of `desired` that has another value in `live`. */
export function driftedField(live: unknown, desired: unknown): string | undefined {
  return drifted(live, desired, [], "must be there")?.join(".");
}

/** Whether `live` lacks fields of `desired`, and none has another value: an API server drops fields that it does not know. */
export function lacksFields(live: unknown, desired: unknown): boolean {
  return !covers(live, desired) && drifted(live, desired, [], "may lack") === undefined;
}

/** Whether `live` has all of `desired` but something empty, which an apply over content drops. */
export function lacksEmptyFields(live: unknown, desired: unknown): boolean {
  return covers(live, desired) && drifted(live, desired, [], "must be there, if only empty") !== undefined;
}

type Path = readonly (string | number)[];
/** What is desired and not there. */
type Absent = "must be there" | "must be there, if only empty" | "may lack";

function drifted(live: unknown, desired: unknown, path: Path, absent: Absent): Path | undefined {
  if (live === undefined && absent === "may lack") return undefined;
  if (Array.isArray(desired)) return Array.isArray(live) ? driftedInList(live, desired, path, absent) : path;
  if (desired !== null && typeof desired === "object") {
    if (live === null || typeof live !== "object" || Array.isArray(live)) {
      const isEmpty = live === undefined && Object.keys(desired).length === 0;
      return isEmpty && absent === "must be there" ? undefined : path;
    }
    return first(Object.entries(desired), ([key, value]) =>
      drifted((live as Readonly<Record<string, unknown>>)[key], value, [...path, key], absent),
    );
  }
  return desired === undefined || live === desired ? undefined : path;
}

function driftedInList(
  live: readonly unknown[],
  desired: readonly unknown[],
  path: Path,
  absent: Absent,
): Path | undefined {
  if (MERGED_LISTS.has(String(path.at(-1)))) {
    return first([...desired.entries()], ([index, element]) => {
      if (live.some((candidate) => drifted(candidate, element, [], absent) === undefined)) return undefined;
      const changed = live.find(
        (candidate) => nameOf(candidate) !== undefined && nameOf(candidate) === nameOf(element),
      );
      const within = changed === undefined ? undefined : drifted(changed, element, [...path, index], absent);
      return within ?? [...path, index];
    });
  }
  if (live.length !== desired.length) return path;
  return first([...desired.entries()], ([index, element]) => drifted(live[index], element, [...path, index], absent));
}

function nameOf(element: unknown): unknown {
  return (element as { readonly name?: unknown } | null)?.name;
}

function first<T>(items: readonly T[], find: (item: T) => Path | undefined): Path | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
