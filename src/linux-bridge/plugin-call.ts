import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AttachmentRecord } from "./attachment-record.ts";

/** A DEL takes milliseconds; one that delegates to a lease on a slow disk takes longer. */
const CALL_TIMEOUT_MS = 30_000;

const MAX_OUTPUT_CHARACTERS = 4096;

export interface PluginCall {
  readonly executable: string;
  /** Where the plugin finds others that it delegates to. */
  readonly cniPath: string;
  readonly record: AttachmentRecord;
}

/** Calls the plugin's own DEL, without the namespace that is gone. Undefined for success, else what it said. */
export async function callDel({ executable, cniPath, record }: PluginCall): Promise<string | undefined> {
  const env = {
    CNI_COMMAND: "DEL",
    CNI_CONTAINERID: record.containerId,
    CNI_IFNAME: record.ifname,
    CNI_PATH: cniPath,
    CNI_ARGS: "IgnoreUnknown=1",
  };
  const child = spawn(executable, [], {
    env,
    stdio: ["pipe", "pipe", "pipe"],
    timeout: CALL_TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(0, MAX_OUTPUT_CHARACTERS);
    });
  }
  // It may end without reading all of its input.
  child.stdin.on("error", () => undefined).end(record.config);
  try {
    const [code, signal] = await once(child, "close");
    return code === 0 ? undefined : `${output.trim() || "no answer"} (${signal ?? `exit code ${code}`})`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
