import type { KubeClient } from "../kube/client/client.ts";
import { withQuery } from "../kube/client/paths.ts";
import { defineResource, type KubeObject, type ObjectMeta } from "../kube/client/resource.ts";

/** What the API server and its webhooks would answer to `kubectl apply --server-side` of an object. Nothing is stored. */

export type Verdict = "accepted" | "refused" | "unchecked";

export interface DryRun {
  readonly verdict: Verdict;
  /** What the server says of it; empty where it is accepted. */
  readonly message: string;
  /** The webhook that refuses it. */
  readonly by?: string;
  /** What the server warns of. */
  readonly warnings: readonly string[];
}

export interface DryRunTarget {
  readonly object: KubeObject;
  readonly plural: string;
  readonly namespace: string;
  readonly timeoutMs: number;
}

/** The server can't be asked about anything with these credentials. */
export class NotAuthenticated extends Error {
  override readonly name = "NotAuthenticated";
}

const DENIAL = /^admission webhook "([^"]+)" denied the request(?:: | )([\s\S]*)$/;
const WITHOUT_DRY_RUN = / does not support dry run/;
const NO_RIGHT = / is forbidden: User "[\s\S]*" cannot /;
const WARNING = /\b299 \S+ "((?:[^"\\]|\\.)*)"/g;
/** A DNS subdomain. The server says what is wrong with another name. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Throws `ConnectionError`, and `NotAuthenticated`. */
export async function dryRun(client: KubeClient, target: DryRunTarget): Promise<DryRun> {
  const { status, headers, body } = await sent(client, target);
  const warnings = warningsIn(headers.warning);
  if (status < 300) return { verdict: "accepted", message: "", warnings };
  const { message, aboutNamespace } = statusIn(body);
  if (status === 401) throw new NotAuthenticated("the API server does not know these credentials: log in again");
  const [, by, reason] = DENIAL.exec(message) ?? [];
  if (by !== undefined && reason !== undefined) return { verdict: "refused", message: reason, by, warnings };
  if (status === 404 && !aboutNamespace) {
    const { apiVersion, kind } = target.object;
    return { verdict: "unchecked", message: `the cluster has no ${kind} of ${apiVersion}.`, warnings };
  }
  const isJudged = status >= 400 && status < 500 && status !== 429;
  const isRefused = isJudged && !WITHOUT_DRY_RUN.test(message) && !NO_RIGHT.test(message);
  return { verdict: isRefused ? "refused" : "unchecked", message, warnings };
}

async function sent(client: KubeClient, { object, plural, namespace, timeoutMs }: DryRunTarget) {
  const { group, version } = defineResource(object.apiVersion ?? "", object.kind ?? "", plural, true);
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
  const { name } = object.metadata;
  const isNamed = typeof name === "string" && NAME.test(name);
  // As kubectl writes, which also refuses unknown fields.
  const options = { dryRun: "All", fieldManager: "kubectl", fieldValidation: "Strict" };
  const body = { ...object, metadata: { ...asWritten(object.metadata), namespace } };
  if (!isNamed) return client.raw("POST", withQuery(collection, options), { body, timeoutMs });
  const headers = { "content-type": "application/apply-patch+yaml" };
  return client.raw("PATCH", withQuery(`${collection}/${name}`, { ...options, force: true }), {
    body,
    headers,
    timeoutMs,
  });
}

/** Without what only servers write: a copy of a stored object is judged as the object that it makes. */
function asWritten(metadata: ObjectMeta): ObjectMeta {
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, ...written } = metadata;
  return written;
}

/** What a `Status` says, or the text in its place. */
function statusIn(body: unknown): { readonly message: string; readonly aboutNamespace: boolean } {
  const { message, details } = (typeof body === "object" && body !== null ? body : {}) as {
    readonly message?: unknown;
    readonly details?: { readonly kind?: unknown } | null;
  };
  const text = typeof message === "string" && message !== "" ? message : String(body).trim();
  return { message: text, aboutNamespace: details?.kind === "namespaces" };
}

/** Texts of the header, which a server may send several times. */
function warningsIn(header: string | string[] | undefined): string[] {
  const all = [header ?? []].flat().join(", ");
  return [...all.matchAll(WARNING)].map(([, text = ""]) => text.replace(/\\(.)/g, "$1"));
}
