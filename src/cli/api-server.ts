import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { type CustomKind, MAC_CLAIMS, MAC_POOLS } from "../api/kinds.ts";
import type { ObjectMeta } from "../api/object-meta.ts";
import { CliError, type ClientConfig } from "./kubeconfig.ts";

/** Read access to the API server with the user's own credentials. */

const TIMEOUT_MS = 30_000;
const PAGE_SIZE = 500;

/** An answer that is no success; 403 and 404 are expected by callers that can do without. */
export class RefusedError extends CliError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface ReadObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

interface ObjectList<T> {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly T[];
}

export class ApiServer {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  async get<T extends ReadObject>(kind: CustomKind, name: string, namespace?: string): Promise<T> {
    return this.#read<T>(`${collection(kind, namespace)}/${encodeURIComponent(name)}`, kind);
  }

  async list<T extends ReadObject>(
    kind: CustomKind,
    options: { namespace?: string; labelSelector?: string } = {},
  ): Promise<T[]> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
      if (options.labelSelector !== undefined) query.set("labelSelector", options.labelSelector);
      if (next !== undefined) query.set("continue", next);
      const page = await this.#read<ObjectList<T>>(`${collection(kind, options.namespace)}?${query}`, kind);
      const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
      for (const item of page.items ?? []) items.push({ ...item, apiVersion, kind: kind.kind });
      next = page.metadata?.continue || undefined;
    } while (next !== undefined);
    return items;
  }

  async #read<T>(path: string, kind: CustomKind): Promise<T> {
    const { status, body } = await this.#request(path);
    if (status === 200) return JSON.parse(body) as T;
    throw new RefusedError(status, describeRefusal(status, body, kind));
  }

  #request(path: string): Promise<{ status: number; body: string }> {
    const { server, ca, cert, key, insecure, serverName, token, basic } = this.#config;
    const url = new URL(server.replace(/\/$/, "") + path);
    const authorization = token !== undefined ? `Bearer ${token}` : basic === undefined ? undefined : `Basic ${basic}`;
    const options = {
      headers: { accept: "application/json", ...(authorization === undefined ? {} : { authorization }) },
      timeout: TIMEOUT_MS,
      ca,
      cert,
      key,
      rejectUnauthorized: !insecure,
      ...(serverName === undefined ? {} : { servername: serverName }),
    };
    return new Promise((resolve, reject) => {
      const request = (url.protocol === "http:" ? httpRequest : httpsRequest)(url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
        );
        response.on("error", reject);
      });
      request.on("timeout", () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
      request.on("error", (error: NodeJS.ErrnoException) =>
        reject(
          new CliError(
            `the API server ${server} can't be reached (${error.code ?? error.message}): is this the right kubeconfig?`,
          ),
        ),
      );
      request.end();
    });
  }
}

function collection({ group, version, plural }: CustomKind, namespace?: string): string {
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${base}${namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`}/${plural}`;
}

function describeRefusal(status: number, body: string, kind: CustomKind): string {
  const isOurs = kind === MAC_CLAIMS || kind === MAC_POOLS;
  if (status === 404 && isOurs && !body.includes('"details"')) {
    return "the cluster has no MAC pool: set kubeMacPool in NetworkAddonsConfig cluster";
  }
  if (status === 401) return "the API server does not know these credentials: log in again";
  const message = messageOf(body);
  if (status === 403) return `${message}: ask for ClusterRole kubemacpool-view or view`;
  return message === "" ? `the API server answered ${status} for ${kind.plural}` : message;
}

function messageOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === "string" ? message : "";
  } catch {
    return "";
  }
}
