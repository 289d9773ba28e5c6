import type { JsonPatchOp } from "./json-patch.ts";
import type { Query } from "./paths.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface SelectOptions extends CallOptions {
  /** All namespaces if left out. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** False leaves them out, which halves the memory of small objects. */
  readonly managedFields?: boolean | undefined;
}

export interface ListOptions extends SelectOptions {
  /** Objects a page; 0 asks for everything at once. */
  readonly limit?: number | undefined;
}

export interface WatchOptions extends SelectOptions {
  /** The server ends the watch after this time. */
  readonly timeoutSeconds?: number | undefined;
  readonly allowBookmarks?: boolean | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  readonly fieldManager?: string | undefined;
  /** What the server does about unknown or duplicate fields; by default it warns. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
  readonly subresource?: string | undefined;
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  /** Preconditions: 409 if the object was replaced or changed. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
  readonly gracePeriodSeconds?: number | undefined;
}

export type Patch =
  | { readonly type: "json"; readonly ops: readonly JsonPatchOp[] }
  | { readonly type: "merge" | "strategic"; readonly body: unknown };

export interface Page<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  /** Ask for the next page with it; absent on the last one. */
  readonly continue?: string;
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  /** For ERROR a `Status`, for BOOKMARK only kind and resourceVersion. */
  readonly object: T;
}

export function selectQuery(options: SelectOptions): Query {
  return { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
}

export function watchQuery(options: WatchOptions): Query {
  const { resourceVersion, timeoutSeconds } = options;
  return {
    ...selectQuery(options),
    watch: true,
    allowWatchBookmarks: options.allowBookmarks ?? true,
    resourceVersion,
    timeoutSeconds,
  };
}

export function writeQuery(options: WriteOptions): Query {
  const { fieldManager, fieldValidation } = options;
  return { dryRun: options.dryRun ? "All" : undefined, fieldManager, fieldValidation };
}

/** `app=web,tier=front`: objects that have all of the labels. */
export function labelSelectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
