import type { SelectOptions, WatchOptions, WriteOptions } from "./call-options.ts";
import type { Query } from "./paths.ts";

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
