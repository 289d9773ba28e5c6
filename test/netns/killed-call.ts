/** Kills an executable from outside, on the way into one chosen system call. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { findExecutable } from "../cluster/requirements.ts";
import type { CniCall } from "./cni-call.ts";
import type { Outcome } from "./machine.ts";

/** One system call of a run: its name, and which of the calls of that name it is, counted from 1. */
export interface SystemCall {
  readonly name: string;
  readonly nth: number;
  /** Whether anything outside the process may be changed by it. */
  readonly changes: boolean;
}

const CHANGING = ["sendto", "mkdir", "rename", "unlink", "write", "setns"];

/** How often they are made depends on what else the machine does. */
const WAITING = ["ppoll", "brk", "futex", "read", "restart_syscall", "close", "recvfrom", "mmap", "munmap"];

/** The system calls of one whole run, in order. */
export async function systemCallsOf(command: string, call: CniCall, config: object): Promise<SystemCall[]> {
  const directory = await mkdtemp(path.join(call.node.machine.shared, "strace-"));
  try {
    const file = path.join(directory, "calls");
    const { code, stdout, stderr } = await strace(["-o", file], command, call, config);
    if (code !== 0) throw new Error(`${command} under strace failed: ${stdout}${stderr}`);
    return parseCalls(await readFile(file, "utf8"));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * Runs the call up to that system call, which does not happen any more. A run that makes fewer calls of that name, as
 * one does that waits less often, comes to its end. An IPAM plugin that is left at work comes to its end too: a DEL beside
 * it might release the address before it is taken.
 */
export async function killedAt(at: SystemCall, command: string, call: CniCall, config: object): Promise<void> {
  const killing = `inject=${at.name}:signal=KILL:when=${at.nth}`;
  const { code, stderr } = await strace(["-o", "/dev/null", "-e", killing], command, call, config);
  if (code !== 137 && !(code === 0 && WAITING.includes(at.name)))
    throw new Error(`${command} was not killed at ${at.name} ${at.nth}: ${stderr}`);
}

/** Every process that the call leaves has its output as descriptor 3, so the outcome waits for all of them. */
const HOLDING_OUTPUT = ["/bin/sh", "-c", 'exec "$@" 3>&1', "sh"];

function strace(options: readonly string[], command: string, call: CniCall, config: object): Promise<Outcome> {
  const executable = call.executable ?? "";
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: call.containerId ?? "container",
    CNI_IFNAME: call.ifname ?? "net1",
    CNI_PATH: path.dirname(executable),
    ...call.env,
  };
  return call.node.run([...HOLDING_OUTPUT, findExecutable("strace") ?? "strace", ...options, executable], {
    env,
    input: JSON.stringify(config),
  });
}

function parseCalls(trace: string): SystemCall[] {
  const counts = new Map<string, number>();
  return trace.split("\n").flatMap((line) => {
    const [, name] = /^(\w+)\(/.exec(line) ?? [];
    if (name === undefined || name === "execve") return [];
    const nth = (counts.get(name) ?? 0) + 1;
    counts.set(name, nth);
    const changes = CHANGING.includes(name) || (name === "openat" && line.includes("O_CREAT"));
    return [{ name, nth, changes }];
  });
}
