import type { Page } from "./call-options.ts";
import { ListDecoder } from "./list-decoder.ts";
import { apiVersionOf, type KubeObject, type Resource } from "./resource.ts";
import { parseJson } from "./watch-decoder.ts";
import { LIST_DEPTH, withoutManagedFields } from "./without-managed-fields.ts";

/** A list on the wire. */
export interface ListObject<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: T[] | null;
}

interface Reading {
  /** For messages. */
  readonly request: string;
  readonly managedFields: boolean;
}

/** A list from the API server's whole answer. */
export function readPage<T extends KubeObject>(
  resource: Resource<T>,
  body: Buffer,
  { request, managedFields }: Reading,
): Page<T> {
  const json = managedFields ? body : withoutManagedFields(body, LIST_DEPTH);
  const { items, metadata } = parseJson<ListObject<T>>(json, request);
  return pageOf(resource, items ?? [], metadata);
}

/** The same from an answer that is still coming. */
export async function readPageAsItComes<T extends KubeObject>(
  resource: Resource<T>,
  body: AsyncIterable<Buffer>,
  { request, managedFields }: Reading,
): Promise<Page<T>> {
  const decoder = new ListDecoder<T>(request, managedFields);
  const batches: (readonly T[])[] = [];
  for await (const chunk of body) {
    const items = decoder.decode(chunk);
    if (items.length > 0) {
      batches.push(items);
    }
  }
  const { items, metadata } = decoder.end();
  return pageOf(resource, [...batches, items].flat(), metadata);
}

function pageOf<T extends KubeObject>(resource: Resource<T>, items: T[], metadata: ListObject<T>["metadata"]): Page<T> {
  const apiVersion = apiVersionOf(resource);
  for (const item of items as { apiVersion?: string; kind?: string }[]) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  const { resourceVersion = "", continue: token } = metadata ?? {};
  return token ? { items, resourceVersion, continue: token } : { items, resourceVersion };
}

/** The list's metadata come first for built-in kinds, last for custom resources. */
const METADATA_BYTES = 4096;
const CONTINUE = /"metadata":\{(?:"resourceVersion":"\d*",)?"continue":"([^"\\]+)"/;

/**
 * The continue token, found without parsing the page. It is a guess: who asks for the next page with it must compare it
 * with the parsed page's.
 */
export function guessContinue(body: Buffer): string | undefined {
  const from = Math.max(0, body.length - METADATA_BYTES);
  const end = body.toString("latin1", from);
  const start = body.toString("latin1", 0, Math.min(from, METADATA_BYTES));
  return (CONTINUE.exec(end) ?? CONTINUE.exec(start))?.[1];
}
