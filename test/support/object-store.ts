import { isDeepStrictEqual } from "node:util";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { KubeObject, ObjectRef, Resource } from "../../src/kube/client/resource.ts";

/** One write, as watches see it. */
export interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly plural: string;
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
}

/** What a write or a deletion expects of the object that is there. */
interface Expected {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

interface Table {
  readonly objects: Map<string, KubeObject>;
  changes: Change[];
}

interface Options {
  readonly dryRun?: boolean;
}

/** What was stored at some time. */
export interface Snapshot {
  readonly version: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

export const keyOf = ({ namespace, name }: { namespace?: string | undefined; name?: string | undefined }): string =>
  namespace === undefined ? (name ?? "") : `${namespace}/${name}`;

/**
 * What an API server keeps: objects with versions, every write a compare-and-set, and the history that watches read. All
 * tests without a real API server stand on it: by HTTP in the conformance suite, which holds it against a real one, by
 * the simulated client, and as the store of claims. It does nothing by itself and takes no time, so it is repeatable.
 */
export class ObjectStore {
  /** Kinds that the API server does not serve at the moment: their definition is missing. */
  readonly absent = new Set<string>();
  readonly #now: () => number;
  readonly #tables = new Map<string, Table>();
  readonly #watchers = new Set<(change: Change) => void>();
  #version = 1;
  #compacted = 0;
  #restores = 0;

  /** `now` is in ms since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get version(): string {
    return String(this.#version);
  }

  /** How often a snapshot came back. Requests from before a restore do not survive it. */
  get restores(): number {
    return this.#restores;
  }

  get(plural: string, key: string): KubeObject | undefined {
    return this.#table(plural).objects.get(key);
  }

  list(plural: string, namespace?: string): KubeObject[] {
    const all = [...this.#table(plural).objects.values()];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  create(resource: Resource, object: KubeObject, options: Options = {}): KubeObject {
    const key = keyOf(object.metadata);
    if (this.get(resource.plural, key) !== undefined) throw refusal(409, "AlreadyExists", resource, key);
    const creationTimestamp = new Date(this.#now()).toISOString();
    const uid = `u${this.#version + 1}${this.#restores > 0 ? `-${this.#restores}` : ""}`;
    const metadata = { ...object.metadata, uid, creationTimestamp, generation: 1 };
    return this.#write("ADDED", resource.plural, key, { ...object, metadata }, undefined, options);
  }

  /** Conditional where the object carries a resourceVersion. A Lease without one is created. */
  update(resource: Resource, object: KubeObject, options: Options = {}): KubeObject {
    if (resource.plural === "leases" && object.metadata.resourceVersion === undefined) {
      return this.create(resource, object, options);
    }
    const key = keyOf(object.metadata);
    const old = this.#expected(resource, key, { resourceVersion: object.metadata.resourceVersion });
    const { uid, creationTimestamp, generation = 1 } = old.metadata;
    const isSame =
      isDeepStrictEqual(object.spec, old.spec) && (hasStatusOfItsOwn(resource) || hasStatusOf(object, old));
    const next = isSame ? generation : generation + 1;
    const metadata = { ...object.metadata, uid, creationTimestamp, generation: next };
    return this.#write("MODIFIED", resource.plural, key, { ...object, metadata }, old, options);
  }

  remove(resource: Resource, ref: ObjectRef, expected: Expected = {}): void {
    const key = keyOf(ref);
    const old = this.#expected(resource, key, expected);
    this.#write("DELETED", resource.plural, key, old, old, {});
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

  snapshot(): Snapshot {
    const objects = new Map([...this.#tables].map(([plural, table]) => [plural, new Map(table.objects)]));
    return { version: this.#version, objects };
  }

  /** As etcd does without new versions: what came after the snapshot is lost, and its versions are given again. */
  restore({ version, objects }: Snapshot): void {
    this.#tables.clear();
    for (const [plural, stored] of objects) this.#tables.set(plural, { objects: new Map(stored), changes: [] });
    this.#version = version;
    this.#compacted = version;
    this.#restores += 1;
    this.absent.clear();
  }

  watch(watcher: (change: Change) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #expected(resource: Resource, key: string, { uid, resourceVersion }: Expected): KubeObject {
    const old = this.get(resource.plural, key);
    if (old === undefined) throw refusal(404, "NotFound", resource, key);
    const { metadata } = old;
    if (
      (uid ?? metadata.uid) === metadata.uid &&
      (resourceVersion ?? metadata.resourceVersion) === metadata.resourceVersion
    )
      return old;
    throw refusal(409, "Conflict", resource, key);
  }

  #write(
    type: Change["type"],
    plural: string,
    key: string,
    object: KubeObject,
    old: KubeObject | undefined,
    { dryRun = false }: Options,
  ): KubeObject {
    if (dryRun) return object;
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const table = this.#table(plural);
    if (type === "DELETED") table.objects.delete(key);
    else table.objects.set(key, stored);
    const change = { version, type, plural, object: stored, old };
    table.changes.push(change);
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

/** Without a status subresource a change of the status is a new generation. */
const hasStatusOfItsOwn = ({ plural }: Resource): boolean => plural !== "macclaims";

const hasStatusOf = (one: object, other: object): boolean =>
  isDeepStrictEqual((one as { status?: unknown }).status, (other as { status?: unknown }).status);
