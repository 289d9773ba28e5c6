import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { RecordedAttachment } from "./recorded-attachments.ts";

const MAX_OUTPUT_CHARACTERS = 4096;

export interface PluginCall {
  readonly executable: string;
  /** Where the plugin finds others that it delegates to. */
  readonly cniPath: string;
  readonly record: RecordedAttachment;
  readonly timeoutMs: number;
  /** Ends the call. */
  readonly signal: AbortSignal;
}

/**
 * Calls the plugin's own DEL, without the namespace that is gone. Undefined for success, else what it said. One that does
 * not end is killed with what it called, which would otherwise keep its output open; nobody waits for what can't be killed.
 */
export async function callDel({
  executable,
  cniPath,
  record,
  timeoutMs,
  signal,
}: PluginCall): Promise<string | undefined> {
  const env = {
    CNI_COMMAND: "DEL",
    CNI_CONTAINERID: record.containerId,
    CNI_IFNAME: record.ifname,
    CNI_PATH: cniPath,
    CNI_ARGS: "IgnoreUnknown=1",
  };
  // A process group of its own, to be killed whole.
  const child = spawn(executable, [], { env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(0, MAX_OUTPUT_CHARACTERS);
    });
  }
  // It may end without reading all of its input.
  child.stdin.on("error", () => undefined).end(record.config);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const [code, killedBy] = await once(child, "close", { signal: AbortSignal.any([timeout, signal]) });
    return code === 0 ? undefined : `${output.trim() || "no answer"} (${killedBy ?? `exit code ${code}`})`;
  } catch (error) {
    if (!timeout.aborted && !signal.aborted) return error instanceof Error ? error.message : String(error);
    endWhole(child);
    return timeout.aborted
      ? `it did not end within ${timeoutMs} ms and was killed`
      : "it was killed: this process stops";
  }
}

function endWhole(child: ChildProcessWithoutNullStreams): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  child.unref();
}
