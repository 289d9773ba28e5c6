/**
 * The API client: raw JSON objects in and out, no field lost, one method for each verb.
 *
 * `client/` is the lowest part of `src/kube`; informer, leader election, events and every product build on it.
 * Below the verbs are `api-caller` (deadline, repetition, concurrency) and `transport` (connections, credentials).
 *
 * Every method throws `ApiError` when the server refuses, `ConnectionError` when no complete answer came, and the
 * signal's reason when the caller gave up. All but watches end within `timeoutMs` (30 s unless given).
 */
import { setImmediate } from "node:timers/promises";
import { ApiCaller, type ApiCallerOptions, type ApiResponse, type Call, refusal } from "./api-caller.ts";
import type {
  CallOptions,
  DeleteOptions,
  ListOptions,
  Page,
  Patch,
  SelectOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./call-options.ts";
import { watchQuery, writeQuery } from "./call-options.ts";
import { listCall, readPage, readPageAsItComes } from "./list-page.ts";
import { bodyOf, nameOf, type Query, refOf, requireName, resourcePath, withQuery } from "./paths.ts";
import type { KubeObject, ObjectRef, Resource } from "./resource.ts";
import { parseJson, WatchDecoder } from "./watch-decoder.ts";

export type {
  CallOptions,
  DeleteOptions,
  ListOptions,
  Page,
  Patch,
  SelectOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./call-options.ts";

const PAGE_SIZE = 500;

const JSON_BODY = { "content-type": "application/json" } as const;
const PATCH_TYPE = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

export interface KubeClientOptions extends ApiCallerOptions {
  /** Ends the process, for another one to start with nothing seen. It gets a sentence for the log. Without it that is thrown. */
  readonly onRestored?: (sentence: string) => void;
}

export class KubeClient {
  readonly #caller: ApiCaller;
  readonly #onRestored: (sentence: string) => void;
  /** Namespace of the credentials, if they name one. */
  readonly namespace: string | undefined;

  constructor(options: KubeClientOptions) {
    this.#caller = new ApiCaller(options);
    this.#onRestored = options.onRestored ?? fail;
    this.namespace = options.credentials.namespace;
  }

  async get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: CallOptions = {}): Promise<T> {
    requireName(resource, ref);
    return this.#json({ method: "GET", path: resourcePath(resource, ref), ...budget(options) });
  }

  /** The whole list, page by page; `resourceVersion` is where a watch may start. */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<{ items: T[]; resourceVersion: string }> {
    const items: T[] = [];
    let resourceVersion = "";
    for await (const page of this.pages(resource, options)) {
      for (const item of page.items) items.push(item);
      resourceVersion = page.resourceVersion;
    }
    return { items, resourceVersion };
  }

  /** The list as pages. Throws an `isGone` error when a continue token has expired between two of them. */
  async *pages<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): AsyncGenerator<Page<T>, void> {
    let next: string | undefined;
    do {
      const page = await this.page(resource, options, next);
      yield page;
      next = page.continue;
    } while (next);
  }

  /** One page: the first, or the one a continue token stands for. */
  async page<T extends KubeObject>(resource: Resource<T>, options: ListOptions, next?: string): Promise<Page<T>> {
    const limit = options.limit ?? PAGE_SIZE;
    const from = next ? { continue: next } : { resourceVersion: options.resourceVersion };
    const { call, reading } = listCall(resource, options, { limit, ...from });
    return readPage(resource, (await this.#answer(call)).body, reading);
  }

  /**
   * The whole list in one answer, parsed while it arrives, for long lists. Each object goes through `transform` at once, which drops
   * it by `undefined`.
   * The list may take any time as long as data arrives. It is not repeated when it is refused or breaks.
   */
  async wholeList<T extends KubeObject>(
    resource: Resource<T>,
    options: SelectOptions,
    transform: (object: T) => T | undefined,
  ): Promise<Page<T>> {
    const { call, reading } = listCall(resource, options, { limit: 0, resourceVersion: options.resourceVersion });
    return readPageAsItComes(resource, await this.#caller.stream(call, "GET"), { ...reading, transform });
  }

  /** Ends when the server ends it; throws when it is refused, breaks, is silent for too long, or is not JSON. */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<T>, void> {
    for await (const events of this.watchBatches(resource, options)) {
      yield* events;
    }
  }

  /** `watch`, with the events that arrived together in one array; first an empty one, once the server has answered. */
  async *watchBatches<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<T>[], void> {
    const path = resourcePath(resource, { namespace: options.namespace }, watchQuery(options));
    // The connection of the list before is free again a turn after its end. Without this turn, each watch opens another one.
    await setImmediate();
    const body = await this.#caller.stream({ method: "GET", path, signal: options.signal });
    const decoder = new WatchDecoder<T>(`GET ${path}`, options.managedFields ?? true);
    yield [];
    for await (const chunk of body) {
      const { events, error } = decoder.decode(chunk);
      if (events.length > 0) yield events;
      if (error !== undefined) throw error;
    }
    decoder.end();
  }

  /** The object needs `metadata.name` or `metadata.generateName`. */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: NoInfer<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const { namespace, name, generateName } = object.metadata;
    if (!name && !generateName && !resource.kind.endsWith("Review")) {
      throw new Error(`A ${resource.kind} to be created needs metadata.name or metadata.generateName.`);
    }
    return this.#write(
      "POST",
      resource,
      { namespace },
      JSON_BODY,
      bodyOf(resource, object),
      writeQuery(options),
      options,
    );
  }

  /** Replaces the object. With `metadata.resourceVersion` only if nobody changed it in between (else `isConflict`). */
  async update<T extends KubeObject>(
    resource: Resource<T>,
    object: NoInfer<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const target = { ...refOf(resource, object), subresource: options.subresource };
    return this.#write("PUT", resource, target, JSON_BODY, bodyOf(resource, object), writeQuery(options), options);
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    requireName(resource, ref);
    const body = JSON.stringify(patch.type === "json" ? patch.ops : patch.body);
    const target = { name: ref.name, namespace: ref.namespace, subresource: options.subresource };
    const headers = { "content-type": PATCH_TYPE[patch.type] };
    return this.#write("PATCH", resource, target, headers, body, writeQuery(options), options);
  }

  /** Server-side apply: creates the object, or sets the given fields and owns them. */
  async apply<T extends KubeObject>(
    resource: Resource<T>,
    object: NoInfer<T>,
    options: WriteOptions & { readonly fieldManager: string; readonly force?: boolean | undefined },
  ): Promise<T> {
    const target = { ...refOf(resource, object), subresource: options.subresource };
    const query = { ...writeQuery(options), force: options.force };
    const headers = { "content-type": "application/apply-patch+yaml" };
    return this.#write("PATCH", resource, target, headers, bodyOf(resource, object), query, options);
  }

  /** Throws `isNotFound` if the object does not exist. Resolves when the server has accepted; finalizers may still run. */
  async delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    requireName(resource, ref);
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options;
    const body = JSON.stringify({
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: uid || resourceVersion ? { uid, resourceVersion } : undefined,
      propagationPolicy,
      gracePeriodSeconds,
      dryRun: options.dryRun ? ["All"] : undefined,
    });
    const target = { name: ref.name, namespace: ref.namespace };
    await this.#write("DELETE", resource, target, JSON_BODY, body, {}, options);
  }

  /** POST to a subresource, such as `token` of a ServiceAccount or `eviction` of a Pod. */
  async createSubresource<B>(
    resource: Resource,
    ref: ObjectRef,
    subresource: string,
    body: B,
    options: CallOptions = {},
  ): Promise<B> {
    requireName(resource, ref);
    const target = { name: ref.name, namespace: ref.namespace, subresource };
    return this.#write("POST", resource, target, JSON_BODY, JSON.stringify(body), {}, options);
  }

  /** Any path, any answer: does not throw for a refusal. A JSON body comes parsed, another one as text. */
  async raw(
    method: string,
    path: string,
    options: CallOptions & { body?: unknown; query?: Query; headers?: Record<string, string> } = {},
  ): Promise<{ status: number; headers: ApiResponse["headers"]; body: unknown }> {
    const { body, headers } = options;
    const answer = await this.#caller.call({
      method,
      path: withQuery(path, options.query ?? {}),
      headers: { ...(body === undefined ? {} : JSON_BODY), ...headers },
      body: typeof body === "string" || body === undefined ? body : JSON.stringify(body),
      ...budget(options),
    });
    const isJson = String(answer.headers["content-type"] ?? "").includes("json");
    return {
      status: answer.status,
      headers: answer.headers,
      body: isJson ? parseJson(answer.body, path) : answer.body.toString("utf8"),
    };
  }

  /** What was read is older than this process has seen it: whatever the process knows may never have been. */
  restored(what: string): void {
    this.#onRestored(
      `${what} is older than it was, as after a restore of etcd: this process ends, to start with what is there now`,
    );
  }

  /** Ends all connections; calls and watches under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#caller.close();
  }

  async #write<A>(
    method: string,
    resource: Resource,
    target: { namespace?: string | undefined; name?: string; subresource?: string | undefined },
    headers: Record<string, string>,
    body: string,
    query: Query,
    options: CallOptions,
  ): Promise<A> {
    if (resource.namespaced && !target.namespace) {
      throw new Error(`${method} of a ${resource.kind} needs a namespace.`);
    }
    return this.#json({ method, path: resourcePath(resource, target, query), headers, body, ...budget(options) });
  }

  async #json<A>(call: Call): Promise<A> {
    return parseJson<A>((await this.#answer(call)).body, nameOf(call));
  }

  async #answer(call: Call): Promise<ApiResponse> {
    const answer = await this.#caller.call(call);
    if (answer.status >= 400) throw refusal(call, answer);
    return answer;
  }
}

function fail(sentence: string): never {
  throw new Error(sentence);
}

function budget(options: CallOptions, timeoutMs?: number): Pick<Call, "signal" | "timeoutMs"> {
  return { signal: options.signal, timeoutMs: options.timeoutMs ?? timeoutMs };
}
