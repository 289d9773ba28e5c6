import { parseObject } from "../json-path.ts";

/** The server refused: with a `Status` of the API, a problem of RFC 9457, or another text in its place. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status code. */
  readonly status: number;
  /** `Status.reason`, such as `NotFound`, `Conflict`, `AlreadyExists`, `Invalid`, `Expired`; or the type of a problem. */
  readonly reason: string;
  /** `Status.details`: causes by field, the object's name and kind. */
  readonly details: StatusDetails | undefined;
  /** How long the server asks us to wait. */
  readonly retryAfterMs: number | undefined;
  /** Method and path of the request. */
  readonly request: string;

  constructor(answer: {
    status: number;
    reason: string;
    message: string;
    details?: StatusDetails | undefined;
    retryAfterMs?: number | undefined;
    request?: string;
  }) {
    super(answer.message);
    this.status = answer.status;
    this.reason = answer.reason;
    this.details = answer.details;
    this.retryAfterMs = answer.retryAfterMs;
    this.request = answer.request ?? "";
  }
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { reason?: string; message?: string; field?: string }[];
  readonly retryAfterSeconds?: number;
}

/** No complete answer arrived. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** False: the request was not sent, so it is safe to repeat. True: the server may have carried it out; only a read shows which. */
  readonly written: boolean;
  /** `ECONNREFUSED`, `ENOTFOUND`, `ECONNRESET`, `ETIMEDOUT`, ... where the cause has one. */
  readonly code: string | undefined;

  constructor(message: string, options: { written: boolean; cause?: unknown; code?: string }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.written = options.written;
    this.code = options.code ?? codeOf(options.cause);
  }
}

export const isNotFound = (error: unknown): error is ApiError => hasStatus(error, 404);
export const isForbidden = (error: unknown): error is ApiError => hasStatus(error, 403);
export const isInvalid = (error: unknown): error is ApiError => hasStatus(error, 422);
/** The resourceVersion, list position or continue token is too old: list again. */
export const isGone = (error: unknown): error is ApiError => hasStatus(error, 410);
export const isAlreadyExists = (error: unknown): error is ApiError =>
  hasStatus(error, 409) && error.reason === "AlreadyExists";
/** Somebody else wrote in between, or a precondition failed: read and try again. */
export const isConflict = (error: unknown): error is ApiError =>
  hasStatus(error, 409) && error.reason !== "AlreadyExists";

function hasStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status;
}

/** Longest quote, in a message, of a body that is not a `Status`. */
const MAX_QUOTED_CHARS = 300;

/** The error in an answer's body, whoever wrote it: the API server, its mux, or a proxy in between. */
export function apiErrorFrom(answer: {
  status: number;
  body: string;
  retryAfter?: string | undefined;
  request: string;
}): ApiError {
  const json: object | undefined = parseObject(answer.body);
  const parsed = statusOf(json) ?? problemOf(json);
  return new ApiError({
    status: answer.status,
    reason: parsed?.reason || REASON_OF[answer.status] || "Unknown",
    message:
      parsed?.message ||
      `the server answered ${answer.status}: ${answer.body.trim().slice(0, MAX_QUOTED_CHARS) || "no text"}`,
    details: parsed?.details,
    retryAfterMs: retryAfterMs(answer.retryAfter) ?? secondsToMs(parsed?.details?.retryAfterSeconds),
    request: answer.request,
  });
}

/** The error that an `ERROR` event of a watch carries instead of an object. */
export function apiErrorFromEvent(object: unknown, request: string): ApiError {
  const status = (object ?? {}) as StatusObject;
  return new ApiError({
    status: typeof status.code === "number" ? status.code : 500,
    reason: status.reason || "Unknown",
    message: status.message || "the watch ended with an ERROR event that has no message",
    details: status.details,
    retryAfterMs: secondsToMs(status.details?.retryAfterSeconds),
    request,
  });
}

interface StatusObject {
  kind?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: StatusDetails;
}

function statusOf(json: StatusObject | undefined): StatusObject | undefined {
  return json?.kind === "Status" ? json : undefined;
}

function problemOf(json: { type?: unknown; detail?: unknown } | undefined): StatusObject | undefined {
  const { type, detail } = json ?? {};
  return typeof type === "string" && typeof detail === "string" ? { reason: type, message: detail } : undefined;
}

/** Seconds only: the API server sends nothing else, and a date would depend on our clock. */
function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
}

function codeOf(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

const REASON_OF: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};
