/** What the product's accounts ask of the API server, from its audit log. */

import { open } from "node:fs/promises";
import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";

const ACCOUNTS = `system:serviceaccounts:${DEFAULT_NAMESPACE}`;

/** Watches are logged when they begin, everything else when it is answered. */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", userGroups: [ACCOUNTS] }, { level: "None" }],
};

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly stageTimestamp: string;
}

export interface Request {
  /** Name of the service account. */
  readonly account: string;
  /** `patch networkaddonsconfigs/status`; a path where there is no resource. */
  readonly what: string;
  readonly atMs: number;
}

export class Requests {
  readonly #file: string;
  #offset = 0;
  #rest = "";

  constructor(auditLog: string) {
    this.#file = auditLog;
  }

  /** Those since the last call. */
  async next(): Promise<Request[]> {
    await using file = await open(this.#file);
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(size - this.#offset), 0, size - this.#offset, this.#offset);
    this.#offset = size;
    const lines = `${this.#rest}${buffer.toString("utf8")}`.split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => JSON.parse(line) as AuditEvent).flatMap(request);
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
