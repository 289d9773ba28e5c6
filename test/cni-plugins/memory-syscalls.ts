/** One run of an executable against a `MemoryKernel`: what it was given and what it answered. */

import { createHash } from "node:crypto";
import type { Finished } from "../../cni-plugins/native/syscalls.ts";
import { OWN_NETNS, POLLHUP, POLLIN, STDERR, STDIN, STDOUT, type Syscalls } from "../../cni-plugins/native/syscalls.ts";
import { EAGAIN, ENOENT } from "../../cni-plugins/netlink/errno.ts";
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

  exec(path: string, args: readonly string[], assignments: readonly string[], stdin: string): Finished {
    const program = this.programs[path];
    if (program === undefined) throw Object.assign(new Error(`execute ${path} failed`), { errno: ENOENT });
    return { code: 0, stdout: "", stderr: "", ...program({ args, assignments, stdin }) };
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
