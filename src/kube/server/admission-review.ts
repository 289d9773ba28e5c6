import type { JsonPatchOp } from "../client/json-patch.ts";
import type { KubeObject } from "../client/resource.ts";
import { shortText } from "../short-text.ts";

/** `request` of an AdmissionReview v1: one object about to be written. */
export interface AdmissionRequest<T extends KubeObject = KubeObject> {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource?: string | undefined;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** Empty on CREATE with generateName. */
  readonly name: string;
  readonly namespace: string | undefined;
  /** Null on DELETE. */
  readonly object: T | null;
  /** Null on CREATE. */
  readonly oldObject: T | null;
  /** Nothing may be changed anywhere. */
  readonly dryRun: boolean;
  readonly userInfo: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

export type AdmissionAnswer =
  | { readonly allowed: true; readonly patch?: readonly JsonPatchOp[]; readonly warnings?: readonly string[] }
  | {
      readonly allowed: false;
      /** What, where, why, what to do. The user sees it after "admission webhook ... denied the request: ". */
      readonly message: string;
      /** HTTP status the user gets; 403 unless given. */
      readonly code?: number;
      readonly reason?: string;
      readonly warnings?: readonly string[];
    };

export type Decoded =
  | { readonly ok: true; readonly request: AdmissionRequest }
  | { readonly ok: false; readonly reason: string };

/** The API server cuts a warning at 256 characters where it has many; we cut ourselves, at a place we know. */
const MAX_WARNING_CHARS = 256;
const FORBIDDEN = 403;
/**
 * What an API server tells of a request is never longer; the object is for whoever judges it. Kubernetes has no limit for
 * names of users: certificates and tokens are far below.
 */
const MAX_CHARS = { uid: 128, namespace: 63, username: 1_024 };
const MAX_QUOTED_CHARS = 64;
const OPERATIONS: readonly unknown[] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

/** Reads the body of a webhook call. Whatever it is, this does not throw. */
export function decodeReview(body: string): Decoded {
  let review: { apiVersion?: unknown; kind?: unknown; request?: Partial<Record<keyof AdmissionRequest, unknown>> };
  try {
    review = JSON.parse(body);
  } catch (error) {
    return { ok: false, reason: `the body is not JSON: ${(error as Error).message}` };
  }
  if (review?.kind !== "AdmissionReview" || review.apiVersion !== "admission.k8s.io/v1") {
    return { ok: false, reason: "the body is not an AdmissionReview of admission.k8s.io/v1" };
  }
  const { request } = review;
  if (typeof request !== "object" || request === null) {
    return { ok: false, reason: "the AdmissionReview has no request" };
  }
  if (typeof request.uid !== "string" || request.uid === "") {
    return { ok: false, reason: "request.uid is missing" };
  }
  if (!OPERATIONS.includes(request.operation)) {
    const operation = shortText(String(request.operation), MAX_QUOTED_CHARS);
    return { ok: false, reason: `request.operation "${operation}" is unknown` };
  }
  const { uid, namespace } = request;
  const { username } = (request.userInfo ?? {}) as AdmissionRequest["userInfo"];
  for (const [field, text] of Object.entries({ uid, namespace, username })) {
    const most = MAX_CHARS[field as keyof typeof MAX_CHARS];
    if (typeof text === "string" && text.length > most)
      return { ok: false, reason: `${field} of the request has more than ${most} characters` };
  }
  const { kind, resource, object, oldObject, subResource } = request;
  if (typeof kind !== "object" || kind === null) {
    return { ok: false, reason: "request.kind is missing" };
  }
  if (typeof resource !== "object" || resource === null) {
    return { ok: false, reason: "request.resource is missing" };
  }
  if (!isObjectOrNothing(object)) {
    return { ok: false, reason: "request.object is not an object with metadata" };
  }
  if (!isObjectOrNothing(oldObject)) {
    return { ok: false, reason: "request.oldObject is not an object with metadata" };
  }
  return {
    ok: true,
    request: {
      uid: request.uid,
      kind: kind as AdmissionRequest["kind"],
      resource: resource as AdmissionRequest["resource"],
      subResource: typeof subResource === "string" ? subResource : undefined,
      operation: request.operation as AdmissionRequest["operation"],
      name: typeof request.name === "string" ? request.name : "",
      namespace: typeof request.namespace === "string" && request.namespace !== "" ? request.namespace : undefined,
      object: object ?? null,
      oldObject: oldObject ?? null,
      dryRun: request.dryRun === true,
      userInfo: (request.userInfo as AdmissionRequest["userInfo"] | undefined) ?? {},
    },
  };
}

function isObjectOrNothing(value: unknown): value is KubeObject | null | undefined {
  return value === undefined || value === null || typeof (value as Partial<KubeObject>).metadata === "object";
}

/** The AdmissionReview to answer with. Put together by hand: most answers are one word, and a patch is one in base64. */
export function encodeReview(uid: string, answer: AdmissionAnswer): string {
  let response = `"uid":${JSON.stringify(uid)},"allowed":${answer.allowed}`;
  if (answer.allowed) {
    if (answer.patch?.length) {
      const patch = Buffer.from(JSON.stringify(answer.patch)).toString("base64");
      response += `,"patchType":"JSONPatch","patch":"${patch}"`;
    }
  } else {
    const { code = FORBIDDEN, message, reason = code === FORBIDDEN ? "Forbidden" : undefined } = answer;
    response += `,"status":${JSON.stringify({ code, reason, message })}`;
  }
  if (answer.warnings?.length) {
    response += `,"warnings":${JSON.stringify(answer.warnings.map(oneLine))}`;
  }
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{${response}}}`;
}

/** A warning travels in an HTTP header: a line break or another control character in it would lose it. */
function oneLine(warning: string): string {
  const line = warning.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length <= MAX_WARNING_CHARS ? line : `${line.slice(0, MAX_WARNING_CHARS - 3)}...`;
}
