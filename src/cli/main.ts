import { homedir } from "node:os";
import { run } from "./run.ts";

/** A function because the bundle is CommonJS, which has no top-level await. */
async function main(): Promise<void> {
  const { stdout, stderr, exitCode } = await run({
    argv: process.argv.slice(2),
    env: process.env,
    home: homedir(),
    nowMs: Date.now(),
  });
  // Not exit(): a pipe may still be reading the output.
  process.exitCode = exitCode;
  process.stdout.on("error", () => {});
  process.stderr.write(stderr);
  process.stdout.write(stdout);
}

void main();
