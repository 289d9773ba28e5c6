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

/**
 * One call of a delegate. Its program starts at once, so that it loads while other work goes on; it waits for its input,
 * which `ask` gives it.
 */
export class DelegateRun {
  readonly #delegate: Delegate;
  readonly #command: Command;
  #program: number | undefined;
  #wasAsked = false;
  #finished: Finished | undefined;

  /** If it can't be started, `ask` tries again and throws the reason. */
  constructor(delegate: Delegate, command: Command) {
    this.#delegate = delegate;
    this.#command = command;
    try {
      this.#program = start(delegate, command);
    } catch (error) {
      if (errnoOf(error) === undefined && !(error instanceof CniError)) throw error;
    }
  }

  get wasAsked(): boolean {
    return this.#wasAsked;
  }

  /** Gives it its input. Once. */
  ask(): void {
    const { syscalls, request } = this.#delegate;
    this.#program ??= startPatiently(this.#delegate, this.#command);
    syscalls.give(this.#program, request.stdin);
    this.#wasAsked = true;
  }

  /** Kills it, unless it was asked. */
  abandon(): void {
    if (this.#program !== undefined && !this.#wasAsked) this.#delegate.syscalls.abandon(this.#program);
  }

  /** Waits until it has ended, with or without success. */
  end(): Finished {
    if (this.#program === undefined) throw new Error("a delegate has not started");
    this.#finished ??= this.#delegate.syscalls.finish(this.#program);
    return this.#finished;
  }

  /** Waits until it has ended. Returns what it printed; throws its error as its own, with its code. */
  answer(): string {
    const { syscalls, type } = this.#delegate;
    const { code, stdout, stderr } = this.end();
    if (stderr !== "") syscalls.write(STDERR, stderr);
    if (code !== 0) throw delegateError(type, this.#command, code, stdout, stderr);
    return stdout;
  }
}

/** From start to end. */
export function runDelegate(delegate: Delegate, command: Command): string {
  const run = new DelegateRun(delegate, command);
  run.ask();
  return run.answer();
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

function start({ syscalls, request, type }: Delegate, command: Command): number {
  return syscalls.start(findDelegate(syscalls, request.path, type), [], [`CNI_COMMAND=${command}`]);
}

function startPatiently(delegate: Delegate, command: Command): number {
  const { syscalls, request, type } = delegate;
  for (let attempt = 0; ; attempt++) {
    try {
      return start(delegate, command);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      if (errno !== ETXTBSY || attempt === BUSY_RETRIES) {
        const executable = findDelegate(syscalls, request.path, type);
        const cause = errno === ENOENT ? "the program that interprets or loads it is missing" : describeErrno(errno);
        throw new CniError(DELEGATE_FAILED, `cannot execute ${executable}: ${cause}`);
      }
      syscalls.poll([], BUSY_WAIT_MS);
    }
  }
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
