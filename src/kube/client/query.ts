import type { SelectOptions, WatchOptions, WriteOptions } from "./call-options.ts";
import type { Query } from "./paths.ts";

/** The annotation, with the value `true`, of the bookmark that ends the initial events of a watch. */
export const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export function selectQuery(options: SelectOptions): Query {
  return { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
}

export function watchQuery(options: WatchOptions): Query {
  const { sendInitialEvents, resourceVersion, timeoutSeconds } = options;
  return {
    ...selectQuery(options),
    watch: true,
    allowWatchBookmarks: options.allowBookmarks ?? true,
    resourceVersion,
    // The API demands both together.
    ...(sendInitialEvents && { sendInitialEvents, resourceVersionMatch: "NotOlderThan" }),
    timeoutSeconds,
  };
}

export function writeQuery(options: WriteOptions): Query {
  const { fieldManager, fieldValidation } = options;
  return { dryRun: options.dryRun ? "All" : undefined, fieldManager, fieldValidation };
}
