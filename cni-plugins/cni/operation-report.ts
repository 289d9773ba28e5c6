/** Reports each call to the node's agent by one datagram, for its metrics. The agent need not be there. */

import { type OperationReport, REPORT_SOCKET } from "../../src/api/node-state.ts";
import type { Syscalls } from "../native/syscalls.ts";
import type { CniError } from "./cni-error.ts";
import { isJsonObject } from "./config-object.ts";
import type { Request } from "./request.ts";

const TEXT_CHARACTERS = 128;

export interface Operation {
  readonly plugin: string;
  readonly command: string;
  /** Absent when it could not be read. */
  readonly request: Request | undefined;
  readonly startMs: number;
  readonly fault: CniError | undefined;
}

export function reportOperation(syscalls: Syscalls, { plugin, command, request, startMs, fault }: Operation): void {
  const report: OperationReport = {
    plugin,
    command: command.slice(0, TEXT_CHARACTERS),
    network: (request?.network ?? "").slice(0, TEXT_CHARACTERS),
    code: fault?.code ?? 0,
    ms: Math.round((syscalls.monotonicMs() - startMs) * 1000) / 1000,
  };
  syscalls.sendReport(REPORT_SOCKET, JSON.stringify(report));
}

/** Undefined for a datagram that is no report. */
export function readReport(text: string): OperationReport | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { plugin, command, network, code, ms } = value;
  if (typeof plugin !== "string" || typeof command !== "string" || typeof network !== "string") return undefined;
  return typeof code === "number" && typeof ms === "number" ? { plugin, command, network, code, ms } : undefined;
}
