/** Runs an IPAM plugin as the runtime runs us: the same environment and the same bytes on stdin, another verb. */

import type { Finished } from "../native/syscalls.ts";
import { STDERR, type Syscalls } from "../native/syscalls.ts";
import { describeErrno, ENOENT, ETXTBSY } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { CniError, DELEGATE_FAILED, INVALID_CONFIG } from "./cni-error.ts";
import { ConfigObject, isJsonObject } from "./config-object.ts";
import { parseObject } from "./json-object.ts";
import type { Command, Request } from "./request.ts";

/** An executable that is being installed can't be started yet. */
const BUSY_RETRIES = 50;
const BUSY_WAIT_MS = 100;

export interface Delegate {
  readonly syscalls: Syscalls;
  readonly request: Request;
  /** Name of the executable, from `ipam.type`. */
  readonly type: string;
}

/** From start to end. Returns what it printed; throws its error as its own, with its code. */
export function runDelegate(delegate: Delegate, command: Command): string {
  return outputOf(delegate, command, execDelegate(delegate, command));
}

/** From start to end, with or without success. Throws for a program that can't be started. */
export function execDelegate({ syscalls, request, type }: Delegate, command: Command): Finished {
  const executable = findDelegate(syscalls, request.path, type);
  for (let attempt = 0; ; attempt++) {
    try {
      return syscalls.exec(executable, [], [`CNI_COMMAND=${command}`], request.stdin);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      if (errno !== ETXTBSY || attempt === BUSY_RETRIES) {
        const cause = errno === ENOENT ? "the program that interprets or loads it is missing" : describeErrno(errno);
        throw new CniError(DELEGATE_FAILED, `cannot execute ${executable}: ${cause}`);
      }
      syscalls.poll([], BUSY_WAIT_MS);
    }
  }
}

export function outputOf({ syscalls, type }: Delegate, command: Command, { code, stdout, stderr }: Finished): string {
  if (stderr !== "") syscalls.write(STDERR, stderr);
  if (code !== 0) throw delegateError(type, command, code, stdout, stderr);
  return stdout;
}

export function requireName(type: string): void {
  if (!type.includes("/")) return;
  throw new CniError(INVALID_CONFIG, `"ipam.type": "${type}" must be the name of an executable, without "/"`);
}

function findDelegate(syscalls: Syscalls, path: string, type: string): string {
  requireName(type);
  for (const folder of path.split(":")) {
    const file = folder === "" ? type : `${folder}/${type}`;
    if (syscalls.isExecutable(file)) return file;
  }
  throw new CniError(
    DELEGATE_FAILED,
    `failed to find plugin "${type}" in path [${path.split(":").join(" ")}]: install the IPAM plugin on this node`,
  );
}

function delegateError(type: string, command: Command, exitCode: number, stdout: string, stderr: string): CniError {
  const said = parseError(stdout);
  if (said !== undefined) return said;
  const output = (stdout === "" ? stderr : stdout).trim();
  const what = output === "" ? "without a message" : `and said: ${output.slice(0, 2000)}`;
  return new CniError(DELEGATE_FAILED, `IPAM plugin "${type}" failed at ${command} (exit code ${exitCode}) ${what}`);
}

function parseError(stdout: string): CniError | undefined {
  const { code, msg, details } = parseObject(() => stdout) ?? {};
  if (typeof code !== "number" || typeof msg !== "string") return undefined;
  return new CniError(code, msg, typeof details === "string" ? details : "");
}

/** What a delegate printed, as an object. */
export function parseAnswer(type: string, stdout: string): ConfigObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(stdout);
  } catch {
    throw new CniError(DELEGATE_FAILED, `IPAM plugin "${type}" did not answer in JSON: ${stdout.slice(0, 200)}`);
  }
  if (isJsonObject(parsed)) return new ConfigObject(parsed, `result of ${type}: `);
  throw new CniError(DELEGATE_FAILED, `IPAM plugin "${type}" did not answer with a JSON object`);
}
