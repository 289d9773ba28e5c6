import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { type Change, keyOf, ObjectStore } from "../../support/object-store.ts";
import { WIDGETS } from "../support/real-api-server.ts";
import { statusObject } from "../support/scripted-server.ts";
import type { Backend, BackendAnswer, BackendRequest } from "./backend.ts";

const NAME = /^\/apis\/[^/]+\/[^/]+\/(?:namespaces\/([^/]+)\/)?widgets(?:\/([^/]+))?(\/status)?$/;
const JSON_HEADERS = { "content-type": "application/json" };

/** The object store by HTTP, with as much of the API as a client can see: verbs, pages, watches. Serves Widgets. */
export class MemoryBackend implements Backend {
  readonly #store = new ObjectStore();

  async handle(request: BackendRequest): Promise<BackendAnswer> {
    try {
      return this.#answer(request);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return answer(error.status, statusObject(error.status, error.reason, error.message));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #answer({ path, method, body: text, signal }: BackendRequest): BackendAnswer {
    const { pathname, searchParams: query } = new URL(path, "http://x");
    const [, namespace = "default", name, status] = NAME.exec(pathname) ?? [];
    const key = keyOf({ namespace, name });
    const options = { dryRun: query.has("dryRun") };
    const body = JSON.parse(text || "{}") as KubeObject;
    switch (method) {
      case "GET":
        if (query.has("watch")) return { status: 200, headers: JSON_HEADERS, body: this.#watch(query, signal) };
        return name === undefined ? this.#list(query) : answer(200, this.#get(key));
      case "POST":
        return answer(201, this.#create(namespace, body, options));
      case "PUT":
        return answer(200, this.#store.update(WIDGETS, replaced(this.#get(key), body, status), options));
      case "PATCH": {
        const old = this.#store.get(WIDGETS.plural, key);
        if (old === undefined) return answer(201, this.#create(namespace, body, options));
        return answer(200, this.#store.update(WIDGETS, merge(old, body) as KubeObject, options));
      }
      default: {
        const { preconditions } = body as { preconditions?: { uid?: string; resourceVersion?: string } };
        this.#store.remove(WIDGETS, { namespace, name: name ?? "" }, preconditions);
        return answer(200, { kind: "Status", apiVersion: "v1", status: "Success" });
      }
    }
  }

  #get(key: string): KubeObject {
    const object = this.#store.get(WIDGETS.plural, key);
    if (object === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: `${key} not found` });
    return object;
  }

  #create(namespace: string, object: KubeObject, options: { readonly dryRun: boolean }): KubeObject {
    return this.#store.create(WIDGETS, { ...object, metadata: { ...object.metadata, namespace } }, options);
  }

  /** Pages carry the first page's content on: a continue token is the snapshot and where it goes on. */
  #list(query: URLSearchParams): BackendAnswer {
    const limit = Number(query.get("limit") ?? 0);
    const token = query.get("continue");
    const all = () => this.#store.list(WIDGETS.plural).filter(selector(query));
    const { version, from, items } = token
      ? (JSON.parse(atob(token)) as { version: string; from: number; items: KubeObject[] })
      : { version: this.#store.version, from: 0, items: all() };
    const end = limit > 0 ? from + limit : items.length;
    const next = end < items.length ? btoa(JSON.stringify({ version, from: end, items })) : undefined;
    const metadata = { resourceVersion: version, ...(next && { continue: next }) };
    const kind = `${WIDGETS.kind}List`;
    return answer(200, { kind, apiVersion: API_VERSION, metadata, items: items.slice(from, end) });
  }

  async *#watch(query: URLSearchParams, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const selected = selector(query);
    const version = Number(query.get("resourceVersion") || this.#store.version);
    yield Buffer.alloc(0);
    const waiting: Change[] = [...(this.#store.since(WIDGETS.plural, version) ?? [])];
    let news = Promise.withResolvers<void>();
    const wake = (): void => news.resolve();
    const unsubscribe = this.#store.watch((change) => {
      waiting.push(change);
      wake();
    });
    const timeout = AbortSignal.timeout(Number(query.get("timeoutSeconds") ?? 3_600) * 1000);
    const over = AbortSignal.any([signal, timeout]);
    over.addEventListener("abort", wake, { once: true });
    try {
      while (!over.aborted) {
        const change = waiting.shift();
        if (change === undefined) {
          news = Promise.withResolvers();
          await news.promise;
        } else if (selected(change.object)) {
          yield line(change.type, change.object);
        }
      }
    } finally {
      unsubscribe();
    }
    const metadata = { resourceVersion: this.#store.version };
    yield line("BOOKMARK", { kind: WIDGETS.kind, apiVersion: API_VERSION, metadata });
  }
}

const API_VERSION = `${WIDGETS.group}/${WIDGETS.version}`;

const line = (type: string, object: object) => Buffer.from(`${JSON.stringify({ type, object })}\n`);

function answer(status: number, object: object): BackendAnswer {
  return { status, headers: JSON_HEADERS, body: pieces(JSON.stringify(object)) };
}

async function* pieces(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}

function selector(query: URLSearchParams): (object: KubeObject) => boolean {
  const [label, value] = (query.get("labelSelector") ?? "").split("=");
  return (object) => !label || object.metadata.labels?.[label] === value;
}

function replaced(old: KubeObject, wanted: KubeObject, status: string | undefined): KubeObject {
  const { resourceVersion } = wanted.metadata;
  if (status !== undefined) return { ...old, metadata: { ...old.metadata, resourceVersion }, status: wanted.status };
  return { ...wanted, status: old.status };
}
/** RFC 7386. */
function merge(old: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = typeof old === "object" && old !== null ? { ...old } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = merge(merged[field], value);
  }
  return merged;
}
