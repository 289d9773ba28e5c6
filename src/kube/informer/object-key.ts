import type { KubeObject } from "../client/resource.ts";

/** `namespace/name`, or `name` alone where there is no namespace. */
export function objectKey(object: KubeObject): string {
  const { namespace, name = "" } = object.metadata;
  return namespace ? `${namespace}/${name}` : name;
}

/** The reverse of `objectKey`. */
export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
