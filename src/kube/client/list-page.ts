import type { Page, SelectOptions } from "./call-options.ts";
import { selectQuery } from "./call-options.ts";
import { COMPRESSED } from "./content-encoding.ts";
import { ListDecoder } from "./list-decoder.ts";
import { nameOf, type Query, resourcePath } from "./paths.ts";
import { apiVersionOf, type KubeObject, type Resource, withoutManagedFields } from "./resource.ts";
import { parseJson } from "./watch-decoder.ts";

const LIST_TIMEOUT_MS = 60_000;

/** A list on the wire. */
export interface ListObject<T> {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
  };
  readonly items?: T[] | null;
}

interface Reading {
  /** For messages. */
  readonly request: string;
  readonly managedFields: boolean;
}

/** The call for a list, and how to read its answer. */
export function listCall(resource: Resource, options: SelectOptions, query: Query) {
  const { namespace, managedFields = true, signal, timeoutMs = LIST_TIMEOUT_MS } = options;
  const path = resourcePath(resource, { namespace }, { ...selectQuery(options), ...query });
  const call = { method: "GET", path, headers: COMPRESSED, signal, timeoutMs };
  return { call, reading: { request: nameOf(call), managedFields } };
}

/** A list from the API server's whole answer. */
export function readPage<T extends KubeObject>(
  resource: Resource<T>,
  body: Buffer,
  { request, managedFields }: Reading,
): Page<T> {
  const { items, metadata } = parseJson<ListObject<T>>(body, request);
  const kept = managedFields ? (items ?? []) : (items ?? []).map(withoutManagedFields);
  return pageOf(withKind(resource, kept), metadata);
}

/** The same from an answer that is still arriving. */
export async function readPageAsItComes<T extends KubeObject>(
  resource: Resource<T>,
  body: AsyncIterable<Buffer>,
  { request, managedFields, transform }: Reading & { readonly transform: (object: T) => T | undefined },
): Promise<Page<T>> {
  const decoder = new ListDecoder<T>(request);
  const all: T[] = [];
  const take = (items: readonly T[]) => {
    for (const item of withKind(resource, items)) {
      const kept = transform(managedFields ? item : withoutManagedFields(item));
      if (kept !== undefined) all.push(kept);
    }
  };
  for await (const chunk of body) {
    take(decoder.decode(chunk));
  }
  const { items, metadata } = decoder.end();
  take(items);
  return pageOf(all, metadata);
}

/** Items of built-in kinds come without them. */
function withKind<T extends KubeObject, Items extends readonly T[]>(resource: Resource<T>, items: Items): Items {
  const apiVersion = apiVersionOf(resource);
  for (const item of items as readonly { apiVersion?: string; kind?: string }[]) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  return items;
}

function pageOf<T extends KubeObject>(items: T[], metadata: ListObject<T>["metadata"]): Page<T> {
  const { resourceVersion = "", continue: token } = metadata ?? {};
  return { items, resourceVersion, ...(token && { continue: token }) };
}
