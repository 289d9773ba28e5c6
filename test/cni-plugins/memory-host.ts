/** One run of an executable against a `MemoryKernel`: what it was given and what it answered. */

import { type Host, POLLHUP, POLLIN, STDERR, STDOUT } from "../../cni-plugins/host/host.ts";
import { EAGAIN } from "../../cni-plugins/netlink/errno.ts";
import { type MemoryKernel, NODE_NAMESPACE } from "./memory-kernel.ts";

export class MemoryHost implements Host {
  stdout = "";
  stderr = "";
  exitCode: number | undefined;
  readonly files: Record<string, string> = {};
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
  read = () => 0;
  exit = (code: number) => {
    this.exitCode ??= code;
  };
  random = (buffer: Uint8Array) => {
    crypto.getRandomValues(buffer);
  };
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

  writeFile(path: string, text: string): void {
    this.files[path] = text;
  }

  poll(fds: readonly number[], timeoutMs: number): number[] {
    this.onPoll();
    const readable = this.#kernel.hasEvents();
    if (!readable && !this.stdinEnded) this.#nowMs += timeoutMs;
    return fds.map((_, at) => (at === 0 ? (readable ? POLLIN : 0) : at === 1 && this.stdinEnded ? POLLHUP : 0));
  }

  /** Stdout as JSON. */
  answer(): Record<string, unknown> {
    const parsed: unknown = JSON.parse(this.stdout);
    if (typeof parsed !== "object" || parsed === null) throw new Error(`no JSON object: ${this.stdout}`);
    return { ...parsed };
  }
}
