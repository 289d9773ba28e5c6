import type { JsonPatchOp } from "../../src/kube/client/json-patch.ts";

/** The object after a JSON Patch of operations that set members of objects, which is all that our webhooks use. */
export function appliedPatch<T>(object: T, patch: readonly JsonPatchOp[]): T {
  const result = structuredClone(object);
  for (const { path, value } of patch) {
    const keys = path
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = keys.pop() ?? "";
    let target = result as Record<string, unknown>;
    for (const key of keys) target = target[key] as Record<string, unknown>;
    target[last] = structuredClone(value);
  }
  return result;
}
