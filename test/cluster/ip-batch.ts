/** Several `ip` commands in one process: each start of `ip` costs as much as the command itself. */
import { mustRun } from "./command.ts";
import { plainEnv } from "./requirements.ts";

/** Rejects with the command's own words. Runs in this process' network namespace, or in the named one. */
export async function ipBatch(lines: readonly string[], namespace?: string): Promise<void> {
  if (lines.length === 0) return;
  // `ip -netns` would mount /sys anew, which a user namespace may not do everywhere.
  const where = namespace === undefined ? [] : ["nsenter", `--net=/run/netns/${namespace}`];
  await mustRun([...where, "ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n`, env: plainEnv() });
}
