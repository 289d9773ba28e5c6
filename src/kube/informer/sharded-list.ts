/**
 * A list in shards that the API server works at side by side: it copies and encodes the objects of one list on one core.
 * Each shard is a list of its own by a label, from the watch cache, at the version that was the latest when all began or
 * a later one. What happened between their versions is told again by a watch from the oldest.
 */

import type { KubeClient, Page, SelectOptions } from "../client/client.ts";
import type { KubeObject, Resource } from "../client/resource.ts";
import { objectKey } from "./object-key.ts";
import { isOlder } from "./resource-version.ts";

/** Objects are in shards by the value of a label, which should spread them evenly and never change. */
export interface Shards {
  readonly label: string;
  /** Of each shard but the last, which has every other object, also those without the label. */
  readonly values: readonly (readonly string[])[];
  /** Fewer objects are listed in one piece; 10,000 unless given. */
  readonly minObjects?: number;
}

export interface ShardedListOptions<T extends KubeObject> {
  readonly shards: Shards;
  readonly what: SelectOptions;
  readonly transform: (object: T) => T;
}

const MIN_OBJECTS = 10_000;

/**
 * All objects; in one piece where they are few. Throws what the client throws for any shard, and ends the others.
 * Not at an exact version: that is read from etcd and decoded, for each shard, wherever nothing was written to the
 * resource since etcd was compacted.
 */
export async function shardedList<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { shards, what, transform }: ShardedListOptions<T>,
): Promise<Page<T>> {
  const { resourceVersion, objects } = await survey(client, resource, what);
  if (objects < (shards.minObjects ?? MIN_OBJECTS)) {
    return client.wholeList(resource, { ...what, resourceVersion }, transform);
  }
  const broken = new AbortController();
  const signal = what.signal === undefined ? broken.signal : AbortSignal.any([what.signal, broken.signal]);
  const selectors = shardSelectors(shards, what.labelSelector);
  const list = (labelSelector: string) =>
    client.wholeList(resource, { ...what, labelSelector, resourceVersion, signal }, transform);
  try {
    return mergeShards(await Promise.all(selectors.map(list)));
  } finally {
    broken.abort();
  }
}

/**
 * One list of several that divide all objects, each at a version of its own. A watch from its version, the oldest of
 * theirs, makes good what it lacks: an object that went from shard to shard in between may be in none, or in two and then
 * counts as it was last.
 */
export function mergeShards<T extends KubeObject>(shards: readonly Page<T>[]): Page<T> {
  const { resourceVersion } = shards.reduce((oldest, shard) => (isOlder(shard, oldest) ? shard : oldest));
  const all = shards.flatMap(({ items }) => items);
  if (shards.every((shard) => shard.resourceVersion === resourceVersion)) {
    return { items: all, resourceVersion };
  }
  const latest = new Map<string, T>();
  for (const object of all) {
    const key = objectKey(object);
    const other = latest.get(key);
    if (other === undefined || !isOlder(object.metadata, other.metadata)) {
      latest.set(key, object);
    }
  }
  return { items: [...latest.values()], resourceVersion };
}

/** Selectors that divide what `selector` selects: each object fits exactly one. */
export function shardSelectors({ label, values }: Shards, selector?: string): string[] {
  const some = values.map((each) => `${label} in (${each.join(",")})`);
  const others = `${label} notin (${values.flat().join(",")})`;
  return [...some, others].map((shard) => (selector ? `${selector},${shard}` : shard));
}

/** The version that is the latest now, and how many objects there are, as far as the server says. */
async function survey(client: KubeClient, resource: Resource, what: SelectOptions) {
  const { items, resourceVersion, remainingItemCount, ...page } = await client.page(resource, { ...what, limit: 1 });
  const more = page.continue === undefined ? 0 : (remainingItemCount ?? Number.POSITIVE_INFINITY);
  return { resourceVersion, objects: items.length + more };
}
