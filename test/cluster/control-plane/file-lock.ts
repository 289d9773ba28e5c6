/** A lock between processes. The kernel holds it for a child process, so it ends with this process in any case. */
import { spawn } from "node:child_process";
import { plainEnv } from "../requirements.ts";

export interface FileLock extends AsyncDisposable {
  readonly path: string;
}

/** Waits until `path` is ours. `waiting` is called once when another process has it. */
export async function lockFile(path: string, waiting: () => void = () => {}): Promise<FileLock> {
  const child = spawn("flock", ["--exclusive", path, "sh", "-c", "echo held; exec cat"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: plainEnv(),
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const notice = setTimeout(waiting, WAITING_NOTICE_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => reject(new Error(`flock ${path}: exit code ${code}`)));
      child.stdout.once("data", () => resolve());
    });
  } finally {
    clearTimeout(notice);
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}

const WAITING_NOTICE_MS = 200;
