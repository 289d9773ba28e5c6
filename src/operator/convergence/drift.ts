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
export function covers(live: unknown, desired: unknown, field = ""): boolean {
  if (Array.isArray(desired)) return Array.isArray(live) && coversList(live, desired, field);
  if (desired !== null && typeof desired === "object") {
    if (live === null || typeof live !== "object" || Array.isArray(live)) {
      return live === undefined && Object.keys(desired).length === 0;
    }
    return Object.entries(desired).every(([key, value]) =>
      covers((live as Readonly<Record<string, unknown>>)[key], value, key),
    );
  }
  return desired === undefined || live === desired;
}

function coversList(live: readonly unknown[], desired: readonly unknown[], field: string): boolean {
  if (MERGED_LISTS.has(field)) {
    return desired.every((element) => live.some((candidate) => covers(candidate, element)));
  }
  return live.length === desired.length && desired.every((element, index) => covers(live[index], element));
}
