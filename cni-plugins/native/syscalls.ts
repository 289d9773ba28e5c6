/**
 * The native code as TypeScript sees it: the global `syscalls` of the executables, made by `src/api.rs`. Unit tests give the
 * plugins an in-memory one. Each call that can fail throws an Error with `errno` (number) and `syscall`.
 */

import type { NetlinkTransport } from "../netlink/netlink-socket.ts";

export interface Syscalls extends NetlinkTransport {
  /** The command line without the program's name. */
  args(): string[];
  env(name: string): string | undefined;
  /** EFBIG for more than `limitBytes`, EILSEQ for invalid UTF-8. */
  readStdin(limitBytes: number): string;
  read(fd: number, buffer: Uint8Array): number;
  /** What stderr does not take is lost. */
  write(fd: number, text: string): void;
  exit(code: number): void;
  /** A file's text (at most 1 MiB: EFBIG) as the network namespace `netns` sees it; -1 for the own one. */
  readFile(netns: number, path: string): string;
  /** Whether a file or folder is there and can be reached. */
  exists(path: string): boolean;
  /** Writes a file that exists, as those under /proc/sys do, of the network namespace `netns`; -1 for the own one. */
  writeFile(netns: number, path: string, text: string): void;
  /** Puts a private file in the place of what is there, whole or not at all; makes missing folders. */
  replaceFile(path: string, text: string): void;
  /** Also what a killed `replaceFile` left. ENOENT when there is no file. */
  removeFile(path: string): void;
  /** Names in a folder, in no order. */
  listDirectory(path: string): string[];
  /** Fills the buffer with random bytes. */
  random(buffer: Uint8Array): void;
  /** Of the text's UTF-8, in lower-case hexadecimal. */
  sha512(text: string): string;
  /**
   * Whether a regular expression matches somewhere in a text, in time that is linear in the length of each. Throws an Error
   * without `errno` that says why an expression can't be read.
   */
  matches(expression: string, text: string): boolean;
  monotonicMs(): number;
  openNetns(path: string): number;
  isOwnNetns(fd: number): boolean;
  /** poll(2) for input; the returned event bits, one for each descriptor. -1: no timeout. */
  poll(fds: readonly number[], timeoutMs: number): number[];
  /** Whether the path is a regular file that somebody may execute. */
  isExecutable(path: string): boolean;
  /** Runs a program to its end, in this environment with the assignments `NAME=value` made. ETXTBSY: try again. */
  exec(path: string, args: readonly string[], assignments: readonly string[], stdin: string): Finished;
  /** One datagram to a socket, never blocking; nothing happens when nobody takes it. */
  sendReport(socketPath: string, text: string): void;
  /** A descriptor to `read` reports from, EAGAIN when there is none; replaces an earlier listener. */
  bindReports(socketPath: string): number;
}

/** A program that ended: its exit code, or 128 and its signal. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** In place of a namespace's descriptor: the plugin's own. */
export const OWN_NETNS = -1;

export const STDIN = 0;
export const STDOUT = 1;
export const STDERR = 2;

/** Event bits of `poll`. */
export const POLLIN = 1;
export const POLLERR = 8;
export const POLLHUP = 16;
