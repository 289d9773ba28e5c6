import { apiVersionOf, type KubeObject, type Resource } from "./resource.ts";

/** Segments of a resource's path that vary. */
export interface PathTarget {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * The path of a resource, one object of it, or an object's subresource. Throws for what would become another path: a
 * missing namespace or name, a name with a slash.
 */
export function resourcePath(resource: Resource, target: PathTarget, query: Query = {}): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  let path = root;
  if (resource.namespaced && target.namespace) {
    path += `/namespaces/${segment(resource, "namespace", target.namespace)}`;
  } else if (resource.namespaced && target.name !== undefined) {
    throw new Error(`${resource.kind} "${target.name}" needs a namespace, and none was given.`);
  }
  path += `/${resource.plural}`;
  if (target.name !== undefined) {
    path += `/${segment(resource, "name", target.name)}`;
  }
  if (target.subresource) {
    path += `/${target.subresource}`;
  }
  return withQuery(path, query);
}

export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query)
    .filter((pair) => pair[1] !== undefined && pair[1] !== "")
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/**
 * The body of a write, with the resource's apiVersion and kind. Throws for an object of another kind or without its
 * namespace.
 */
export function bodyOf(resource: Resource, object: KubeObject): string {
  const apiVersion = apiVersionOf(resource);
  if (typeof object !== "object" || object === null || typeof object.metadata !== "object" || !object.metadata) {
    throw new Error(`A ${resource.kind} needs metadata to be written.`);
  }
  const name = object.metadata.name ?? object.metadata.generateName ?? "";
  if (object.kind !== undefined && object.kind !== resource.kind) {
    throw new Error(`Object "${name}" is a ${object.kind}, but was given as a ${resource.kind}.`);
  }
  if (object.apiVersion !== undefined && object.apiVersion !== apiVersion) {
    throw new Error(`${resource.kind} "${name}" is of ${object.apiVersion}, but was given as ${apiVersion}.`);
  }
  if (resource.namespaced && !object.metadata.namespace) {
    throw new Error(`${resource.kind} "${name}" has no metadata.namespace.`);
  }
  return JSON.stringify({ ...object, apiVersion, kind: resource.kind });
}

/**
 * Throws for a reference without a name. Its path would be that of the whole collection, and the deletion of one object
 * would delete all.
 */
export function requireName(resource: Resource, ref: { readonly name?: string | undefined }): void {
  if (!ref.name) {
    throw new Error(`A single ${resource.kind} needs a name.`);
  }
}

/** Where a write of the object goes. */
export function refOf(resource: Resource, object: KubeObject): { name: string; namespace: string | undefined } {
  const { name, namespace } = object.metadata;
  if (!name) {
    throw new Error(`A ${resource.kind} to be written needs metadata.name.`);
  }
  return { name, namespace };
}

function segment(resource: Resource, what: string, value: string): string {
  if (value === "" || value === "." || value === ".." || value.includes("/")) {
    throw new Error(`"${value}" cannot be the ${what} of a ${resource.kind}.`);
  }
  return encodeURIComponent(value);
}

/** A call, in messages. */
export const nameOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path}`;
