import type { KubeObject } from "./resource.ts";

/** The object without `metadata.managedFields`, which are about half of a small object's memory. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) {
    return object;
  }
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
