/** One run of an executable against a `MemoryKernel`: what it was given and what it answered. */

import { createHash } from "node:crypto";
import type { Finished } from "../../cni-plugins/native/syscalls.ts";
import { OWN_NETNS, POLLHUP, POLLIN, STDERR, STDIN, STDOUT, type Syscalls } from "../../cni-plugins/native/syscalls.ts";
import { EAGAIN, ECHILD, ENOENT } from "../../cni-plugins/netlink/errno.ts";
import { type MemoryKernel, NODE_NAMESPACE } from "./memory-kernel.ts";

/** A program of the node, as `exec` runs it. */
export type MemoryProgram = (call: {
  readonly args: readonly string[];
  readonly assignments: readonly string[];
  readonly stdin: string;
}) => Partial<Finished>;

export class MemorySyscalls implements Syscalls {
  stdout = "";
  stderr = "";
  exitCode: number | undefined;
  readonly files: Record<string, string> = {};
  readonly programs: Record<string, MemoryProgram> = {};
  /** Runs each time the program waits; time goes on by what it would have waited. */
  onPoll: () => void = () => {};
  stdinEnded = false;
  #nowMs = 0;
  /** Programs that were started; none in the place of one that is over. */
  readonly #started: (((stdin: string) => Finished) | undefined)[] = [];
  readonly #finished: (Finished | undefined)[] = [];
  readonly #kernel: MemoryKernel;
  readonly #env: Readonly<Record<string, string>>;
  readonly #stdin: string;

  constructor(kernel: MemoryKernel, env: Readonly<Record<string, string>> = {}, stdin = "") {
    this.#kernel = kernel;
    this.#env = env;
    this.#stdin = stdin;
  }

  args = () => [];
  env = (name: string) => this.#env[name];
  readStdin = () => this.#stdin;
  read: Syscalls["read"] = () => 0;
  exit = (code: number) => {
    this.exitCode ??= code;
  };
  random = (buffer: Uint8Array) => {
    crypto.getRandomValues(buffer);
  };
  sha512 = (text: string) => createHash("sha512").update(text).digest("hex");
  matches = (expression: string, text: string) => new RegExp(expression, "u").test(text);
  monotonicMs = () => this.#nowMs;
  openNetns = (path: string) => this.#kernel.openNamespace(path);
  isOwnNetns = (fd: number) => this.#kernel.namespaceOf(fd) === NODE_NAMESPACE;
  netlinkOpen = (netns: number, groups: number) => this.#kernel.netlinkOpen(netns, groups);
  netlinkSend = (fd: number, message: Uint8Array) => this.#kernel.netlinkSend(fd, message);
  netlinkReceive = (fd: number, buffer: Uint8Array) => this.#kernel.netlinkReceive(fd, buffer);
  interfaceMightExist = (fd: number, name: string) => this.#kernel.interfaceMightExist(fd, name);
  close = (fd: number) => this.#kernel.close(fd);

  write(fd: number, text: string): void {
    if (fd === STDOUT) this.stdout += text;
    else if (fd === STDERR) this.stderr += text;
    else throw Object.assign(new Error("write failed"), { errno: EAGAIN });
  }

  writeFile(netns: number, path: string, text: string): void {
    this.files[this.#located(netns, path)] = text;
  }

  readFile(netns: number, path: string): string {
    const text = this.files[this.#located(netns, path)];
    if (text === undefined) throw Object.assign(new Error(`open ${path} failed`), { errno: ENOENT });
    return text;
  }

  exists = (path: string) => path in this.files;

  replaceFile(path: string, text: string): void {
    this.files[path] = text;
  }

  removeFile(path: string): void {
    delete this.files[path];
  }

  listDirectory(path: string): string[] {
    const folder = `${path}/`;
    return Object.keys(this.files)
      .filter((file) => file.startsWith(folder))
      .map((file) => file.slice(folder.length));
  }

  sendReport = () => {};
  bindReports = () => -1;
  isExecutable = (path: string) => path in this.programs;

  start(path: string, args: readonly string[], assignments: readonly string[]): number {
    const program = this.programs[path];
    if (program === undefined) throw Object.assign(new Error(`execute ${path} failed`), { errno: ENOENT });
    const run = (stdin: string) => ({ code: 0, stdout: "", stderr: "", ...program({ args, assignments, stdin }) });
    return this.#started.push(run) - 1;
  }

  give(program: number, stdin: string): void {
    this.#finished[program] = taken(this.#started, program)(stdin);
  }

  /** Programs that were started and wait for their input. */
  get waiting(): number {
    return this.#started.filter((one) => one !== undefined).length;
  }

  finish = (program: number): Finished => taken(this.#finished, program);

  abandon(program: number): void {
    this.#started[program] = undefined;
    this.#finished[program] = undefined;
  }

  /** A file of another namespace has its name before the path. */
  #located(netns: number, path: string): string {
    return netns === OWN_NETNS ? path : `${this.#kernel.namespaceOf(netns)}:${path}`;
  }

  poll(fds: readonly number[], timeoutMs: number): number[] {
    this.onPoll();
    const events = fds.map((fd) => {
      if (fd === STDIN) return this.stdinEnded ? POLLHUP : 0;
      return this.#kernel.isReadable(fd) ? POLLIN : 0;
    });
    if (events.every((one) => one === 0)) this.#nowMs += Math.max(0, timeoutMs);
    return events;
  }

  /** Stdout as JSON. */
  answer(): Record<string, unknown> {
    const parsed: unknown = JSON.parse(this.stdout);
    if (typeof parsed !== "object" || parsed === null) throw new Error(`no JSON object: ${this.stdout}`);
    return { ...parsed };
  }
}

function taken<T>(programs: (T | undefined)[], program: number): T {
  const one = programs[program];
  if (one === undefined) throw Object.assign(new Error("the program is over"), { errno: ECHILD });
  programs[program] = undefined;
  return one;
}
