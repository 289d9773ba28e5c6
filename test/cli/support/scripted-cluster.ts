/** An API server of a script: the pool's REST interface behind the Service's proxy, the objects, and their faults. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { MAC_POOL_TOKEN_HEADER, MAC_POOL_WEBHOOK_CONFIGURATION } from "../../../src/api/names.ts";

export const POOL_NAMESPACE = "addons";
export const TOKEN = "a-token";

const PROXY = `/api/v1/namespaces/${POOL_NAMESPACE}/services/https:kubemacpool-service:inspection/proxy`;
const OBJECTS = "/apis/macpool.network.kubevirt.io/v1alpha1/";

export interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Script {
  /** What REST answers; undefined is 404. Path and query are below `/api/v1/`. */
  readonly rest?: (path: string, query: URLSearchParams) => Answer | undefined;
  /** In place of the proxy. */
  readonly proxy?: Answer;
  readonly pools?: readonly object[] | Answer;
  readonly claims?: readonly object[] | Answer;
  readonly namespaces?: readonly object[] | Answer;
  /** A single one; any exists where this does not answer, and `other` is not given. */
  readonly namespace?: (name: string) => Answer | undefined;
  /** NodeMACs. */
  readonly hosts?: readonly object[] | Answer | undefined;
  /** Any other path of the API server. */
  readonly other?: (path: string, query: URLSearchParams) => Answer | undefined;
  /** In place of the webhook configuration that leads to the pool. */
  readonly webhooks?: Answer;
  /** Accepts, and never answers. */
  readonly hangs?: boolean;
  /** As `hangs`, for the proxy alone. */
  readonly serviceHangs?: boolean;
}

export interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

export class ScriptedCluster implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly asked: Asked[] = [];
  script: Script = {};

  static async start(script: Script = {}): Promise<ScriptedCluster> {
    const cluster = new ScriptedCluster();
    cluster.script = script;
    await new Promise<void>((resolve) => cluster.#server.listen(0, "127.0.0.1", resolve));
    return cluster;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Its cluster and user as parts of a kubeconfig, under this name. */
  parts(name: string, user: object = { token: TOKEN }) {
    return {
      cluster: { name, cluster: { server: this.url, "insecure-skip-tls-verify": true } },
      user: { name, user },
      context: { name, context: { cluster: name, user: name } },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", this.url);
    this.asked.push({ method: request.method, path: url.pathname + url.search, headers: request.headers });
    const { hangs, serviceHangs } = this.script;
    if (hangs || (serviceHangs && url.pathname.startsWith(PROXY))) return;
    const { status = 200, body, type = "application/json", headers } = this.#find(url, request);
    response.writeHead(status, { "content-type": type, ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  #find({ pathname, searchParams }: URL, request: IncomingMessage): Answer {
    const { rest, proxy, pools = [], claims = [], hosts = [], namespaces = [], webhooks } = this.script;
    if (pathname.endsWith(`/mutatingwebhookconfigurations/${MAC_POOL_WEBHOOK_CONFIGURATION}`)) {
      return webhooks ?? { body: webhookConfiguration() };
    }
    if (pathname.startsWith(PROXY)) {
      if (proxy !== undefined) return proxy;
      if (request.headers[MAC_POOL_TOKEN_HEADER] !== `Bearer ${TOKEN}`)
        return problem(401, "UNAUTHENTICATED", "send a token");
      if (pathname === `${PROXY}/readyz`) return { body: "ok\n", type: "text/plain" };
      const path = decodeURIComponent(pathname.slice(`${PROXY}/api/v1/`.length));
      return rest?.(path, searchParams) ?? problem(404, "NOT_FOUND", `there is no ${path}`);
    }
    if (pathname === "/api/v1/namespaces") return listOf(namespaces);
    const named = /^\/api\/v1\/namespaces\/([^/]+)$/.exec(pathname)?.[1];
    if (named !== undefined && this.script.other === undefined)
      return this.script.namespace?.(named) ?? { body: { metadata: { name: named } } };
    if (pathname === `${OBJECTS}macpools`) return listOf(pools);
    if (pathname === `${OBJECTS}macclaims`) return listOf(claims);
    const claim =
      "body" in claims ? undefined : claims.find((one) => pathname === `${OBJECTS}macclaims/${nameOf(one)}`);
    if (claim !== undefined) return { body: claim };
    if (pathname === `${OBJECTS}nodemacs`) return listOf(hosts);
    return this.script.other?.(pathname, searchParams) ?? status(404, `${pathname} not found`);
  }
}

export function problem(code: number, name: string, detail: string, more: object = {}): Answer {
  const body = {
    type: `urn:macpool:MACPOOL_${name}`,
    code: `MACPOOL_${name}`,
    title: name,
    status: code,
    detail,
    ...more,
  };
  return { status: code, body, type: "application/problem+json" };
}

/** An error of the API server itself. */
export function status(code: number, message: string, reason = ""): Answer {
  return { status: code, body: { kind: "Status", apiVersion: "v1", code, message, reason, details: {} } };
}

/** A kubeconfig of several clusters, whose first context is the current one. */
export function kubeconfigOf(...parts: readonly ReturnType<ScriptedCluster["parts"]>[]): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: parts.map(({ cluster }) => cluster),
    users: parts.map(({ user }) => user),
    contexts: parts.map(({ context }) => context),
    "current-context": parts[0]?.context.name,
  });
}

function listOf(objects: readonly object[] | Answer): Answer {
  if ("body" in objects) return objects;
  return { body: { kind: "List", metadata: { resourceVersion: "1" }, items: objects } };
}

function nameOf(object: object): string | undefined {
  return (object as { readonly metadata?: { readonly name?: string } }).metadata?.name;
}

function webhookConfiguration(): object {
  const clientConfig = { service: { namespace: POOL_NAMESPACE, name: "kubemacpool-service" } };
  return { metadata: { name: MAC_POOL_WEBHOOK_CONFIGURATION }, webhooks: [{ clientConfig }] };
}
