import { MAC_POOL_TOKEN_HEADER } from "../api/names.ts";
import { NAMESPACE_HEADER, WAYS_HEADER } from "../api/way.ts";
import { EventStreamDecoder } from "../mac-pool/inspection/rest/event-stream.ts";
import type { ListView, ProblemView, WatchEventView } from "../mac-pool/inspection/rest/views.ts";
import { homeNamespace, isSignedOut, namespace, tellsWays, token } from "./session.ts";

/**
 * Asks the pool that served the page, under relative addresses. The token goes into a header of its own: the API server's
 * service proxy keeps `Authorization` for itself, and hands on others.
 */

const UNREACHABLE =
  "The pool does not answer. The page goes on asking. If this lasts, look at the pods of kubemacpool-mac-controller-manager.";

/** Status of an answer that takes other rights. */
export const FORBIDDEN = 403;

export type Parameters = Readonly<Record<string, string | number | undefined>>;

/** What the pool says instead of an answer, or that it says nothing. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly didYouMean: string | undefined;
  /** How long the pool asks to wait; 0 where it does not say. */
  readonly retryAfterMs: number;

  constructor(
    status: number,
    code: string,
    message: string,
    { didYouMean, retryAfterMs = 0 }: { readonly didYouMean?: string | undefined; readonly retryAfterMs?: number } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.didYouMean = didYouMean;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Answers that may be limited to the namespace that the reader chose. The path of one network has a namespace of its own. */
const NAMESPACED = /^(claims(\/.*)?|collisions|denials|consistency|namespaces|networks|bridges)$/;

export function addressOf(path: string, parameters: Parameters = {}): string {
  const limited = NAMESPACED.test(path) ? { namespace: parameters.namespace ?? namespace.value } : {};
  const given = Object.entries({ ...parameters, ...limited }).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [[key, String(value)]],
  );
  return `api/v1/${path}${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`;
}

/** Throws `Problem`, and what the signal was aborted with. */
export async function ask<T>(path: string, parameters?: Parameters, signal?: AbortSignal): Promise<T> {
  const response = await send(addressOf(path, parameters), {}, signal);
  return (await response.json()) as T;
}

/** All items of a list, page by page. `onPage` gets how many there are so far. */
export async function askAll<T>(path: string, parameters: Parameters, onPage: (items: number) => void): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const page: ListView<T> = await ask(path, { ...parameters, continue: next });
    items.push(...page.items);
    next = page.continue;
    onPage(items.length);
  } while (next !== undefined);
  return items;
}

/** Events of a watch until it is cut: RESET, an item each, BOOKMARK, then what changes. */
export async function* watch<T>(path: string, signal: AbortSignal): AsyncGenerator<WatchEventView<T>> {
  const response = await send(
    addressOf(path, { watch: "true", sendInitialEvents: "true" }),
    { accept: "text/event-stream" },
    signal,
  );
  const decoder = new EventStreamDecoder();
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    for (const { data } of decoder.push(read.value)) yield JSON.parse(data) as WatchEventView<T>;
  }
}

async function send(address: string, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  const mine: Record<string, string> =
    token.value === undefined ? {} : { [MAC_POOL_TOKEN_HEADER]: `Bearer ${token.value}` };
  let response: Response;
  try {
    response = await fetch(address, { headers: { ...headers, ...mine }, cache: "no-cache", signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "MACPOOL_UNREACHABLE", UNREACHABLE);
  }
  if (response.headers.has(WAYS_HEADER)) tellsWays.value = true;
  homeNamespace.value = response.headers.get(NAMESPACE_HEADER) ?? homeNamespace.value;
  if (response.ok) return response;
  if (response.status === 401) isSignedOut.value = true;
  throw await problemOf(response);
}

async function problemOf(response: Response): Promise<Problem> {
  const body = await response.text();
  // Not a number where it is a date, which neither the pool nor the API server sends.
  const retryAfterMs = 1_000 * Number(response.headers.get("retry-after")) || 0;
  if (response.headers.get("content-type")?.includes("json")) {
    const { code = "", detail, didYouMean, message } = JSON.parse(body) as Partial<ProblemView> & { message?: string };
    // `message` is of a Status of the API server, which answers itself when it reaches no replica.
    return new Problem(response.status, code, detail ?? message ?? response.statusText, {
      didYouMean,
      retryAfterMs,
    });
  }
  return new Problem(response.status, "", body.trim() || response.statusText, { retryAfterMs });
}
