/**
 * What some accounts ask of an API server, by its audit log:
 *
 *   const audit = await AuditLog.in(directory, { userGroups: [...] });
 *   await startControlPlane({ apiServerArguments: audit.apiServerArguments });
 *   await audit.next();   // what came since the last call
 *
 * Watches are logged when they begin and when they end, everything else when it is answered.
 */
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp: string;
}

/** In MB: a log that begins anew under its reader loses requests. */
const NEVER_ROTATED = "--audit-log-maxsize=100000";

export class AuditLog {
  readonly apiServerArguments: readonly string[];
  readonly #file: string;
  #offset = 0;
  #rest = "";

  private constructor(policy: string, file: string) {
    this.#file = file;
    this.apiServerArguments = [`--audit-policy-file=${policy}`, `--audit-log-path=${file}`, NEVER_ROTATED];
  }

  /** `who`: names of users, or of their groups. */
  static async in(
    directory: string,
    who: { readonly users: readonly string[] } | { readonly userGroups: readonly string[] },
  ): Promise<AuditLog> {
    const [policy, file] = [join(directory, "audit-policy.json"), join(directory, "audit.log")];
    const rules = [{ level: "Metadata", ...who }, { level: "None" }];
    const text = { apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"], rules };
    await writeFile(policy, JSON.stringify(text));
    await writeFile(file, "");
    return new AuditLog(policy, file);
  }

  async next(): Promise<AuditEvent[]> {
    await using file = await open(this.#file);
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(size - this.#offset), 0, size - this.#offset, this.#offset);
    this.#offset = size;
    const lines = `${this.#rest}${buffer.toString("utf8")}`.split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => JSON.parse(line) as AuditEvent);
  }
}
