/**
 * Runs a plugin for one call: reads the request, hands it on, answers with one JSON document and the exit code. VERSION does
 * not come here: the executable answers it (`version.ts`).
 */

import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { STDERR, STDOUT, type Syscalls } from "../native/syscalls.ts";
import { describeErrno, EAGAIN, EBUSY, EINTR, ENOBUFS, ENOMEM } from "../netlink/errno.ts";
import { errnoOf, NetlinkError } from "../netlink/netlink-socket.ts";
import { AttachmentRecordFile } from "./attachment-record-file.ts";
import { CniError, INTERNAL, KERNEL_REFUSED, TRY_AGAIN_LATER } from "./cni-error.ts";
import type { JsonObject, Warn } from "./config-object.ts";
import { reportOperation } from "./operation-report.ts";
import {
  type Command,
  type NetworkConfig,
  parseNetworkConfig,
  type Request,
  readRequest,
  stdinFault,
} from "./request.ts";
import { encodeResult, type Result } from "./result.ts";
import { type CniVersion, CURRENT_VERSION, SUPPORTED_VERSIONS } from "./version.ts";

export interface Call {
  readonly syscalls: Syscalls;
  readonly request: Request;
  /** A sentence for the person who reads the runtime's log. */
  warn(text: string): void;
  /** For DEL, once nothing is left: removes the attachment record. */
  removeRecord(): void;
}

/** The result of the plugin before this one in the chain, with the changes of this one. */
export interface ModifiedPrevResult {
  readonly prevResult: JsonObject;
}

export interface Plugin {
  readonly name: string;
  /** Only ADD has a result to print. */
  readonly commands: Readonly<Record<Command, (call: Call) => Result | ModifiedPrevResult | undefined>>;
}

export const STDIN_LIMIT_BYTES = 1 << 20;

/** Errors that go away by themselves. */
const TRANSIENT = [EAGAIN, EBUSY, EINTR, ENOBUFS, ENOMEM];

export function runPlugin(syscalls: Syscalls, plugin: Plugin): void {
  const env = (name: string) => syscalls.env(name) ?? "";
  const command = env("CNI_COMMAND");
  if (command === "") {
    syscalls.write(STDERR, `${aboutText(plugin.name)}\n`);
    syscalls.exit(0);
    return;
  }
  let version: string = CURRENT_VERSION;
  let request: Request | undefined;
  const warn = (text: string) => syscalls.write(STDERR, `${plugin.name}: warning: ${text}\n`);
  const startMs = syscalls.monotonicMs();
  const finish = (code: number, document: string, fault?: CniError) => {
    reportOperation(syscalls, { plugin: plugin.name, command, request, startMs, fault });
    if (document !== "") syscalls.write(STDOUT, `${document}\n`);
    syscalls.exit(code);
  };
  try {
    const networkConfig = readStdinConfig(syscalls, warn);
    version = networkConfig.version;
    request = readRequest(command, env, networkConfig);
    const record = new AttachmentRecordFile(syscalls, plugin.name, request);
    const call = { syscalls, request, warn, removeRecord: () => record.remove() };
    const result = record.during(() => plugin.commands[call.request.command](call));
    finish(0, result === undefined ? "" : encodeAnswer(request.version, result));
  } catch (error) {
    const fault = asCniError(error);
    finish(1, encodeError(version, fault), fault);
  }
}

/** Printed when a person starts the executable by hand. */
function aboutText(name: string): string {
  return `CNI ${name} plugin ${PRODUCT_VERSION} (cluster-network-addons)\nCNI protocol versions supported: ${SUPPORTED_VERSIONS.join(", ")}`;
}

function encodeAnswer(version: CniVersion, result: Result | ModifiedPrevResult): string {
  return "prevResult" in result
    ? JSON.stringify({ ...result.prevResult, cniVersion: version })
    : encodeResult(version, result);
}

function readStdinConfig(syscalls: Syscalls, warn: Warn): NetworkConfig {
  let stdin: string;
  try {
    stdin = syscalls.readStdin(STDIN_LIMIT_BYTES);
  } catch (error) {
    throw stdinFault(errnoOf(error), STDIN_LIMIT_BYTES, String(error));
  }
  return parseNetworkConfig(stdin, warn);
}

function encodeError(cniVersion: string, { code, message, details }: CniError): string {
  return JSON.stringify({ cniVersion, code, msg: message, ...(details === "" ? {} : { details }) });
}

function asCniError(error: unknown): CniError {
  if (error instanceof CniError) return error;
  const errno = errnoOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (errno !== undefined) {
    const code = TRANSIENT.includes(errno) ? TRY_AGAIN_LATER : KERNEL_REFUSED;
    return new CniError(code, error instanceof NetlinkError ? message : `${message} (${describeErrno(errno)})`);
  }
  return new CniError(INTERNAL, `the plugin failed: ${message}`, error instanceof Error ? (error.stack ?? "") : "");
}
