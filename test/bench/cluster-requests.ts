/** What the product's accounts ask of the API server, from its audit log. */

import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";
import { type AuditEvent, AuditLog } from "../support/audit-log.ts";

export interface Request {
  /** Name of the service account. */
  readonly account: string;
  /** `patch networkaddonsconfigs/status`; a path where there is no resource. */
  readonly what: string;
  readonly atMs: number;
}

export class Requests {
  readonly #audit: AuditLog;

  private constructor(audit: AuditLog) {
    this.#audit = audit;
  }

  static async in(directory: string): Promise<Requests> {
    return new Requests(await AuditLog.in(directory, { userGroups: [`system:serviceaccounts:${DEFAULT_NAMESPACE}`] }));
  }

  get apiServerArguments(): readonly string[] {
    return this.#audit.apiServerArguments;
  }

  /** Those since the last call. */
  async next(): Promise<Request[]> {
    return (await this.#audit.next()).flatMap(request);
  }
}

function request({ stage, verb, requestURI, user, objectRef, stageTimestamp }: AuditEvent): Request[] {
  if (verb === "watch" && stage !== "ResponseStarted") return [];
  const { resource = requestURI.split("?")[0], subresource } = objectRef ?? {};
  const what = `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`;
  return [{ account: user.username.split(":").at(-1) ?? "", what, atMs: Date.parse(stageTimestamp) }];
}

export const of = (requests: readonly Request[], account: string): Request[] =>
  requests.filter((request) => request.account === account);

/** The most that came within `windowMs`. */
export function busiest(requests: readonly Request[], windowMs: number): number {
  const times = requests.map(({ atMs }) => atMs).sort((one, other) => one - other);
  let first = 0;
  let most = 0;
  for (const [last, atMs] of times.entries()) {
    while (atMs - (times[first] ?? 0) >= windowMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/** `12 patch macpools/status, 4 get leases`, the most frequent first. */
export function summary(requests: readonly Request[]): string {
  const counts = Map.groupBy(requests, ({ what }) => what);
  const sorted = [...counts].map(([what, { length }]) => ({ what, length })).sort((a, b) => b.length - a.length);
  return sorted.map(({ what, length }) => `${length} ${what}`).join(", ") || "none";
}
