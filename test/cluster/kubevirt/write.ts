import type { ApiObject } from "./virtual-machine.ts";

/**
 * One write that the model asks for. All of them change an object only as it was read: by uid or resourceVersion. A
 * `create` of an object that exists and a `delete` of one that has gone have nothing left to do.
 */
export type Write =
  | { readonly verb: "create" | "delete"; readonly object: ApiObject }
  | { readonly verb: "finalizers"; readonly object: ApiObject; readonly finalizers: readonly string[] }
  | { readonly verb: "status"; readonly object: ApiObject; readonly status: object };

/** Deletes unless that has begun. */
export const deletion = (object: ApiObject): Write[] =>
  object.metadata.deletionTimestamp === undefined ? [{ verb: "delete", object }] : [];

/** Adds or removes one finalizer where that is missing. */
export function finalizer(object: ApiObject, name: string, present: boolean): Write[] {
  const { finalizers = [] } = object.metadata;
  if (finalizers.includes(name) === present) return [];
  const next = present ? [...finalizers, name] : finalizers.filter((other) => other !== name);
  return [{ verb: "finalizers", object, finalizers: next }];
}
