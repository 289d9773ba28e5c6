/** Holds an executable on its way out of one chosen system call while something else happens on the node. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { vi } from "vitest";
import { exitCode } from "../cluster/command.ts";
import { findExecutable } from "../cluster/requirements.ts";
import type { CniCall } from "../netns/cni-call.ts";
import type { SystemCall } from "../netns/killed-call.ts";
import type { Outcome } from "../netns/machine.ts";

const WITHIN = { timeout: 10_000, interval: 2 };

/**
 * Runs the call up to that system call, then `meanwhile`, then the rest. The call's answer; undefined when it made fewer
 * calls of that name than it did before, and so was never held.
 */
export async function heldAt(
  at: SystemCall,
  command: string,
  call: CniCall,
  config: object,
  meanwhile: () => Promise<unknown>,
): Promise<Outcome | undefined> {
  const directory = await mkdtemp(path.join(tmpdir(), "held-"));
  const trace = path.join(directory, "trace");
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: call.containerId ?? "container",
    CNI_IFNAME: call.ifname ?? "net1",
    ...call.env,
  };
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const inject = `inject=${at.name}:signal=STOP:when=${at.nth}`;
  const strace = [findExecutable("strace") ?? "strace", "-o", trace, "-e", inject, call.executable ?? ""];
  const [program = "", ...args] = call.node.enter(["env", "-i", ...assignments, ...strace]);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  child.stdin.on("error", () => {}).end(JSON.stringify(config));
  const closed = once(child, "close");
  try {
    const held = await vi.waitFor(async () => {
      if ((await readFile(trace, "utf8")).includes("--- stopped by SIGSTOP ---")) return true;
      if (child.exitCode !== null) return false;
      throw new Error(`${command} neither came to ${at.name} ${at.nth} nor ended`);
    }, WITHIN);
    if (held) {
      await meanwhile();
      const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
      process.kill(Number(children), "SIGCONT");
    }
    await closed;
    return held ? { code: exitCode(child.exitCode, child.signalCode), ...output } : undefined;
  } finally {
    child.kill("SIGKILL");
    await rm(directory, { recursive: true });
  }
}
