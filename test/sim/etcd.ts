import { ApiError } from "../../src/kube/client/api-error.ts";
import type { KubeObject, ObjectRef, Resource } from "../../src/kube/client/resource.ts";
import { EPOCH_MS } from "./host.ts";
import type { Scheduler } from "./scheduler.ts";

/** One write, as watches see it. */
export interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly plural: string;
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
}

interface Table {
  readonly objects: Map<string, KubeObject>;
  changes: Change[];
}

export const keyOf = ({ namespace, name }: { namespace?: string | undefined; name?: string | undefined }): string =>
  namespace === undefined ? (name ?? "") : `${namespace}/${name}`;

/** What the API server keeps: objects with versions, every write a compare-and-set, and the history that watches read. */
export class Etcd {
  readonly #scheduler: Scheduler;
  /** Kinds that the API server does not serve at the moment: their definition is missing. */
  readonly absent = new Set<string>();
  readonly #tables = new Map<string, Table>();
  readonly #watchers = new Set<(change: Change) => void>();
  #version = 1;
  #compacted = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get version(): string {
    return String(this.#version);
  }

  get(plural: string, key: string): KubeObject | undefined {
    return this.#table(plural).objects.get(key);
  }

  list(plural: string, namespace?: string): KubeObject[] {
    const all = [...this.#table(plural).objects.values()];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  create(resource: Resource, object: KubeObject): KubeObject {
    const key = keyOf(object.metadata);
    const { objects } = this.#table(resource.plural);
    if (objects.has(key)) throw refusal(409, "AlreadyExists", resource, key);
    const creationTimestamp = new Date(EPOCH_MS + this.#scheduler.nowMs).toISOString();
    const metadata = { ...object.metadata, uid: `u${this.#version + 1}`, creationTimestamp, generation: 1 };
    return this.#write("ADDED", resource.plural, key, { ...object, metadata }, undefined);
  }

  /** Conditional where the object carries a resourceVersion. */
  update(resource: Resource, object: KubeObject): KubeObject {
    const key = keyOf(object.metadata);
    const old = this.get(resource.plural, key);
    if (old === undefined) throw refusal(404, "NotFound", resource, key);
    const { uid, creationTimestamp, resourceVersion, generation = 1 } = old.metadata;
    const expected = object.metadata.resourceVersion;
    if (expected !== undefined && expected !== resourceVersion) throw refusal(409, "Conflict", resource, key);
    const next = object.spec === old.spec ? generation : generation + 1;
    const metadata = { ...object.metadata, uid, creationTimestamp, generation: next };
    return this.#write("MODIFIED", resource.plural, key, { ...object, metadata }, old);
  }

  remove(resource: Resource, ref: ObjectRef, expected: { uid?: string; resourceVersion?: string } = {}): void {
    const key = keyOf(ref);
    const old = this.get(resource.plural, key);
    if (old === undefined) throw refusal(404, "NotFound", resource, key);
    const { uid, resourceVersion } = old.metadata;
    if ((expected.uid ?? uid) !== uid || (expected.resourceVersion ?? resourceVersion) !== resourceVersion) {
      throw refusal(409, "Conflict", resource, key);
    }
    this.#write("DELETED", resource.plural, key, old, old);
  }

  /** Changes after a version, oldest first; undefined when they are not kept any more. */
  since(plural: string, version: number): readonly Change[] | undefined {
    if (version < this.#compacted) return undefined;
    return this.#table(plural).changes.filter((change) => change.version > version);
  }

  /** Forgets the history so far: watches from before it are told 410. */
  compact(): void {
    this.#compacted = this.#version;
    for (const table of this.#tables.values()) table.changes = [];
  }

  watch(watcher: (change: Change) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #write(
    type: Change["type"],
    plural: string,
    key: string,
    object: KubeObject,
    old: KubeObject | undefined,
  ): KubeObject {
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const table = this.#table(plural);
    if (type === "DELETED") table.objects.delete(key);
    else table.objects.set(key, stored);
    const change = { version, type, plural, object: stored, old };
    table.changes.push(change);
    for (let i = 0; i < key.length; i++) this.#scheduler.note(key.charCodeAt(i));
    this.#scheduler.note(version);
    for (const watcher of this.#watchers) watcher(change);
    return stored;
  }

  #table(plural: string): Table {
    let table = this.#tables.get(plural);
    if (table === undefined) {
      table = { objects: new Map(), changes: [] };
      this.#tables.set(plural, table);
    }
    return table;
  }
}

/** The API server's answer where it does not serve a kind. */
export const notServed = (plural: string): ApiError =>
  new ApiError({
    status: 404,
    reason: "NotFound",
    message: `${plural}: the server could not find the requested resource`,
  });

function refusal(status: number, reason: string, { plural }: Resource, key: string): ApiError {
  return new ApiError({ status, reason, message: `${plural} "${key}": ${reason}` });
}
