import { statusObject } from "../support/scripted-server.ts";
import type { Backend, BackendAnswer, BackendRequest, Widget } from "./backend.ts";

interface Entry {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  readonly object: Widget;
}

type Change = (old: Widget) => Widget;

const NAME = /^\/apis\/[^/]+\/[^/]+\/(?:namespaces\/([^/]+)\/)?widgets(?:\/([^/]+))?(\/status)?$/;
/** `a=b`, `a in (b,c)` or `a notin (b,c)`, one of several. */
const REQUIREMENT = /([^,=() ]+)(?:=([^,]*)| (not)?in \(([^)]*)\))/g;
const JSON_HEADERS = { "content-type": "application/json" };

/** As much of the API's behaviour as a client can see: versions, conflicts, pages, watches, WatchList. Knows one kind. */
export class MemoryBackend implements Backend {
  readonly #objects = new Map<string, Widget>();
  readonly #log: Entry[] = [];
  readonly #watchers = new Set<() => void>();
  #version = 100;
  #uids = 0;

  async handle(request: BackendRequest): Promise<BackendAnswer> {
    const url = new URL(request.path, "http://x");
    const [, namespace = "default", name, status] = NAME.exec(url.pathname) ?? [];
    const key = `${namespace}/${name}`;
    const dryRun = url.searchParams.has("dryRun");
    switch (request.method) {
      case "GET":
        if (name !== undefined) return this.#get(key);
        return url.searchParams.has("watch")
          ? { status: 200, headers: JSON_HEADERS, body: this.#watch(url.searchParams, request.signal) }
          : this.#list(url.searchParams);
      case "POST": {
        const object = JSON.parse(request.body) as Widget;
        return this.#create(`${namespace}/${object.metadata.name}`, object, dryRun);
      }
      case "PUT": {
        const wanted = JSON.parse(request.body) as Widget;
        return this.#change(key, wanted.metadata.resourceVersion, dryRun, (old) => replaced(old, wanted, status));
      }
      case "PATCH": {
        const body = JSON.parse(request.body) as Widget;
        if (!this.#objects.has(key)) return this.#create(key, body, dryRun);
        return this.#change(key, body.metadata?.resourceVersion, dryRun, (old) => merge(old, body) as Widget);
      }
      default:
        return this.#delete(key, JSON.parse(request.body || "{}"));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #get(key: string): BackendAnswer {
    const object = this.#objects.get(key);
    return object ? answer(200, object) : refusal(404, "NotFound", `${key} not found`);
  }

  #create(key: string, object: Widget, dryRun: boolean): BackendAnswer {
    if (this.#objects.has(key)) return refusal(409, "AlreadyExists", `${key} already exists`);
    const metadata = { ...object.metadata, uid: `uid-${++this.#uids}`, generation: 1 };
    return this.#store("ADDED", key, { ...object, metadata }, dryRun, 201);
  }

  #change(key: string, version: string | undefined, dryRun: boolean, change: Change): BackendAnswer {
    const old = this.#objects.get(key);
    if (!old) return refusal(404, "NotFound", `${key} not found`);
    if (version && version !== old.metadata.resourceVersion) return refusal(409, "Conflict", "modified meanwhile");
    const next = change(old);
    return this.#store(
      "MODIFIED",
      key,
      { ...next, metadata: { ...next.metadata, uid: old.metadata.uid } },
      dryRun,
      200,
    );
  }

  #store(type: "ADDED" | "MODIFIED", key: string, object: Widget, dryRun: boolean, status: number): BackendAnswer {
    if (dryRun) return answer(status, object);
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    this.#objects.set(key, stored);
    this.#append({ type, version, object: stored });
    return answer(status, stored);
  }

  #delete(key: string, options: { preconditions?: { uid?: string; resourceVersion?: string } }): BackendAnswer {
    const old = this.#objects.get(key);
    if (!old) return refusal(404, "NotFound", `${key} not found`);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if ((uid && uid !== old.metadata.uid) || (resourceVersion && resourceVersion !== old.metadata.resourceVersion)) {
      return refusal(409, "Conflict", "precondition failed");
    }
    this.#objects.delete(key);
    const version = ++this.#version;
    const object = { ...old, metadata: { ...old.metadata, resourceVersion: String(version) } };
    this.#append({ type: "DELETED", version, object });
    return answer(200, { kind: "Status", apiVersion: "v1", status: "Success" });
  }

  #append(entry: Entry): void {
    this.#log.push(entry);
    for (const wake of this.#watchers) wake();
  }

  /** Pages carry the first page's content on: a continue token is the snapshot and where it goes on. */
  #list(query: URLSearchParams): BackendAnswer {
    const limit = Number(query.get("limit") ?? 0);
    const token = query.get("continue");
    const { version, from, items } = token
      ? (JSON.parse(atob(token)) as { version: number; from: number; items: Widget[] })
      : { version: this.#version, from: 0, items: [...this.#objects.values()].filter(selector(query)) };
    const end = limit > 0 ? from + limit : items.length;
    const next = end < items.length ? btoa(JSON.stringify({ version, from: end, items })) : undefined;
    const metadata = { resourceVersion: String(version), ...(next && { continue: next }) };
    return answer(200, {
      kind: "WidgetList",
      apiVersion: "test.example.com/v1",
      metadata,
      items: items.slice(from, end),
    });
  }

  async *#watch(query: URLSearchParams, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const selected = selector(query);
    let version = Number(query.get("resourceVersion") || this.#version);
    yield Buffer.alloc(0);
    if (query.has("sendInitialEvents")) {
      version = this.#version;
      for (const object of [...this.#objects.values()].filter(selected)) yield line("ADDED", object);
      yield line("BOOKMARK", bookmark(version, { "k8s.io/initial-events-end": "true" }));
    }
    const endsAtMs = Date.now() + Number(query.get("timeoutSeconds") ?? 3_600) * 1000;
    while (!signal.aborted && Date.now() < endsAtMs) {
      const entry = this.#log.find((one) => one.version > version);
      if (entry) {
        version = entry.version;
        if (selected(entry.object)) yield line(entry.type, entry.object);
      } else {
        await this.#news(signal, endsAtMs - Date.now());
      }
    }
    yield line("BOOKMARK", bookmark(version, {}));
  }

  #news(signal: AbortSignal, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#watchers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      this.#watchers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}

const line = (type: string, object: object) => Buffer.from(`${JSON.stringify({ type, object })}\n`);

const bookmark = (version: number, annotations: object) => ({
  kind: "Widget",
  apiVersion: "test.example.com/v1",
  metadata: { resourceVersion: String(version), annotations },
});

function answer(status: number, object: object): BackendAnswer {
  return { status, headers: JSON_HEADERS, body: pieces(JSON.stringify(object)) };
}

const refusal = (code: number, reason: string, message: string) => answer(code, statusObject(code, reason, message));

async function* pieces(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}

function selector(query: URLSearchParams): (object: Widget) => boolean {
  const text = query.get("labelSelector") ?? "";
  const requirements = [...text.matchAll(REQUIREMENT)].map(([, label = "", equal, not, values]) => {
    const wanted: readonly (string | undefined)[] = equal === undefined ? (values ?? "").split(",") : [equal];
    return (object: Widget) => wanted.includes(object.metadata.labels?.[label]) === (not === undefined);
  });
  return (object) => requirements.every((fits) => fits(object));
}

function replaced(old: Widget, wanted: Widget, status: string | undefined): Widget {
  const { status: oldStatus } = old;
  if (status) return { ...old, ...(wanted.status && { status: wanted.status }) };
  return { ...wanted, ...(oldStatus && { status: oldStatus }) };
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
