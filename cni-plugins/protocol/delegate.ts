/** Runs an IPAM plugin as the runtime runs us: the same environment and the same bytes on stdin, another verb. */

import { type Host, STDERR } from "../host/host.ts";
import type { Finished } from "../host/program-host.ts";
import { describeErrno, ETXTBSY } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { CniError, DELEGATE_FAILED, INVALID_CONFIG } from "./cni-error.ts";
import { ConfigObject, isJsonObject } from "./config-object.ts";
import { parseObject } from "./json-object.ts";
import type { Command, Request } from "./request.ts";

/** An executable that is being installed can't be started; it can soon. */
const BUSY_RETRIES = 50;
const BUSY_WAIT_MS = 100;

export interface Delegate {
  readonly host: Host;
  readonly request: Request;
  /** Name of the executable, from `ipam.type`. */
  readonly type: string;
}

/** A delegate that was started for one verb. It does nothing before it is asked: it waits for its input. */
export class PreparedDelegate {
  readonly #delegate: Delegate;
  readonly #command: Command;
  #program: number | undefined;

  /** Why it can't be started is for `ask` to say. */
  constructor(delegate: Delegate, command: Command) {
    this.#delegate = delegate;
    this.#command = command;
    try {
      this.#program = start(delegate, command);
    } catch (error) {
      if (errnoOf(error) === undefined && !(error instanceof CniError)) throw error;
    }
  }

  /** Has it work. Once. */
  ask(): RunningDelegate {
    const { host, request } = this.#delegate;
    const program = this.#program ?? startPatiently(this.#delegate, this.#command);
    this.#program = undefined;
    host.give(program, request.stdin);
    return new RunningDelegate(this.#delegate, this.#command, program);
  }

  /** For one that will not be asked. */
  abandon(): void {
    if (this.#program !== undefined) this.#delegate.host.abandon(this.#program);
    this.#program = undefined;
  }
}

/** A delegate at work. */
export class RunningDelegate {
  readonly #delegate: Delegate;
  readonly #command: Command;
  readonly #program: number;
  #finished: Finished | undefined;

  constructor(delegate: Delegate, command: Command, program: number) {
    this.#delegate = delegate;
    this.#command = command;
    this.#program = program;
  }

  /** Waits until it has ended, whatever it says. */
  end(): Finished {
    this.#finished ??= this.#delegate.host.finish(this.#program);
    return this.#finished;
  }

  /** What it printed as soon as that is a JSON document, which may be long before its end; else all of it at its end. */
  printed(): string {
    for (let before: string | undefined; ; ) {
      const text = this.#delegate.host.printed(this.#program);
      if (text === before || isJson(text)) return text;
      before = text;
    }
  }

  /** What it printed, at its end. Throws its error as its own, with its code. */
  answer(): string {
    const { host, type } = this.#delegate;
    const { code, stdout, stderr } = this.end();
    if (stderr !== "") host.write(STDERR, stderr);
    if (code !== 0) throw delegateError(type, this.#command, code, stdout, stderr);
    return stdout;
  }
}

/** From start to end. */
export function runDelegate(delegate: Delegate, command: Command): string {
  return new PreparedDelegate(delegate, command).ask().answer();
}

function findDelegate(host: Host, path: string, type: string): string {
  if (type.includes("/")) {
    throw new CniError(INVALID_CONFIG, `"ipam.type": "${type}" must be the name of an executable, without "/"`);
  }
  for (const folder of path.split(":")) {
    const file = folder === "" ? type : `${folder}/${type}`;
    if (host.isExecutable(file)) return file;
  }
  throw new CniError(
    DELEGATE_FAILED,
    `failed to find plugin "${type}" in path [${path.split(":").join(" ")}]: install the IPAM plugin on this node`,
  );
}

function start({ host, request, type }: Delegate, command: Command): number {
  return host.start(findDelegate(host, request.path, type), [], [`CNI_COMMAND=${command}`]);
}

function startPatiently(delegate: Delegate, command: Command): number {
  const { host, request, type } = delegate;
  for (let attempt = 0; ; attempt++) {
    try {
      return start(delegate, command);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      if (errno !== ETXTBSY || attempt === BUSY_RETRIES) {
        const executable = findDelegate(host, request.path, type);
        throw new CniError(DELEGATE_FAILED, `cannot execute ${executable}: ${describeErrno(errno)}`);
      }
      host.poll([], BUSY_WAIT_MS);
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

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
