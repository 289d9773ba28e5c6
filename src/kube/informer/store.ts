import type { KubeObject } from "../client/resource.ts";
import { isOlder } from "../client/resource-version.ts";

export type Indexer<T> = (object: T) => readonly string[];

/** Keys by value. Most values have one key; a Set for each would take 200 bytes, 20 MB for 100,000 objects. */
type Index = Map<string, string | Set<string>>;

/** What a write changed in the store, and what handlers get. */
export type Change<T> =
  /** `created`: the object has just been created. Otherwise it may have been there for long. */
  | { readonly type: "add"; readonly object: T; readonly created: boolean }
  | { readonly type: "update"; readonly object: T; readonly old: T }
  /** `final`: the state when it was deleted. Otherwise it is the last stored state of an object that is not stored now. */
  | { readonly type: "delete"; readonly object: T; readonly final: boolean };

/** The objects of an informer, by key and by index. Every write is synchronous and returns what it changed. */
export class Store<T extends KubeObject> {
  readonly #indexers: Readonly<Record<string, Indexer<T>>>;
  #objects = new Map<string, T>();
  #indexes: Record<string, Index>;
  #list: readonly T[] | undefined;

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}) {
    this.#indexers = indexers;
    this.#indexes = emptyIndexes(indexers);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** The same array until something changes. */
  list(): readonly T[] {
    this.#list ??= [...this.#objects.values()];
    return this.#list;
  }

  byIndex(index: string, value: string): readonly T[] {
    const keys = this.#indexes[index];
    if (keys === undefined) {
      throw new Error(`There is no index "${index}"; known: ${Object.keys(this.#indexers).join(", ") || "none"}.`);
    }
    const found: T[] = [];
    for (const key of keysOf(keys.get(value))) {
      const object = this.#objects.get(key);
      if (object !== undefined) {
        found.push(object);
      }
    }
    return found;
  }

  /** One object was created. Does nothing if the stored object is the same or newer. */
  create(object: T): Change<T>[] {
    return this.#store(object, true);
  }

  /** The same for one that was changed. */
  put(object: T): Change<T>[] {
    return this.#store(object, false);
  }

  #store(object: T, created: boolean): Change<T>[] {
    const key = objectKey(object);
    const old = this.#objects.get(key);
    if (old && isOlder(object.metadata, old.metadata)) {
      return [];
    }
    const changes = difference(old, object, created);
    if (changes.length > 0) {
      this.#set(key, old, object);
    }
    return changes;
  }

  /** One object was deleted; `object` is its last state. Does nothing if the stored object was created after that. */
  remove(object: T): Change<T>[] {
    const key = objectKey(object);
    const old = this.#objects.get(key);
    if (old === undefined || isOlder(object.metadata, old.metadata)) {
      return [];
    }
    this.#set(key, old, undefined);
    if (old.metadata.uid !== object.metadata.uid) {
      return [{ type: "delete", object: old, final: false }];
    }
    return [{ type: "delete", object, final: true }];
  }

  /** One object changed and is not to be stored any more. Does nothing if the stored object is newer. */
  forget(object: T): Change<T>[] {
    const key = objectKey(object);
    const old = this.#objects.get(key);
    if (old === undefined || isOlder(object.metadata, old.metadata)) {
      return [];
    }
    this.#set(key, old, undefined);
    return [{ type: "delete", object: old, final: false }];
  }

  /** Swaps the whole content. Of several objects with one key the last counts. Missed deletions are among the changes. */
  replace(objects: readonly T[]): Change<T>[] {
    const before = this.#objects;
    this.#objects = new Map();
    this.#indexes = emptyIndexes(this.#indexers);
    this.#list = undefined;
    for (const object of objects) {
      const key = objectKey(object);
      const old = before.get(key);
      // Handlers may keep what they were given: the same version stays the same object.
      const kept = old !== undefined && sameVersion(old, object) ? old : object;
      this.#set(key, this.#objects.get(key), kept);
    }
    const changes: Change<T>[] = [];
    for (const [key, old] of before) {
      if (!this.#objects.has(key)) {
        changes.push({ type: "delete", object: old, final: false });
      }
    }
    for (const [key, object] of this.#objects) {
      changes.push(...difference(before.get(key), object, false));
    }
    return changes;
  }

  #set(key: string, old: T | undefined, object: T | undefined): void {
    this.#list = undefined;
    for (const [name, indexer] of Object.entries(this.#indexers)) {
      const index = this.#indexes[name];
      if (index === undefined) {
        continue;
      }
      for (const value of old === undefined ? [] : indexer(old)) {
        removeKey(index, value, key);
      }
      for (const value of object === undefined ? [] : indexer(object)) {
        addKey(index, value, key);
      }
    }
    if (object === undefined) {
      this.#objects.delete(key);
    } else {
      this.#objects.set(key, object);
    }
  }
}

/** The same name with another uid is another object: the deletion of the old one was missed. */
function difference<T extends KubeObject>(old: T | undefined, object: T, created: boolean): Change<T>[] {
  if (old === undefined) {
    return [{ type: "add", object, created }];
  }
  if (old.metadata.uid !== object.metadata.uid) {
    return [
      { type: "delete", object: old, final: false },
      { type: "add", object, created },
    ];
  }
  return sameVersion(old, object) ? [] : [{ type: "update", object, old }];
}

function sameVersion(one: KubeObject, other: KubeObject): boolean {
  const version = one.metadata.resourceVersion;
  return version !== undefined && version === other.metadata.resourceVersion && one.metadata.uid === other.metadata.uid;
}

function emptyIndexes<T>(indexers: Readonly<Record<string, Indexer<T>>>): Record<string, Index> {
  return Object.fromEntries(Object.keys(indexers).map((name) => [name, new Map()]));
}

function keysOf(keys: string | Set<string> | undefined): Iterable<string> {
  if (keys === undefined) {
    return [];
  }
  return typeof keys === "string" ? [keys] : keys;
}

function addKey(index: Index, value: string, key: string): void {
  const keys = index.get(value);
  if (keys === undefined) {
    index.set(value, key);
  } else if (typeof keys !== "string") {
    keys.add(key);
  } else if (keys !== key) {
    index.set(value, new Set([keys, key]));
  }
}

function removeKey(index: Index, value: string, key: string): void {
  const keys = index.get(value);
  if (typeof keys === "string") {
    if (keys === key) {
      index.delete(value);
    }
  } else if (keys?.delete(key) && keys.size === 0) {
    index.delete(value);
  }
}

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
