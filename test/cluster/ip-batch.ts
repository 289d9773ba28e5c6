/** Several `ip` commands in one process: each start of `ip` costs as much as the command itself. */
import { mustRun } from "./command.ts";
import { plainEnv } from "./requirements.ts";

/** Rejects with the command's own words. Runs in this process' network namespace, or in the named one. */
export async function ipBatch(lines: readonly string[], namespace?: string): Promise<void> {
  if (lines.length === 0) return;
  const where = namespace === undefined ? [] : ["-netns", namespace];
  await mustRun(["ip", ...where, "-batch", "-"], { stdin: `${lines.join("\n")}\n`, env: plainEnv() });
}
