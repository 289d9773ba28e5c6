import { homedir } from "node:os";
import { run } from "./run.ts";
import { terminalOf } from "./terminal.ts";

const OLDEST_NODE = [22, 19] as const;

/** A function because the bundle is CommonJS, which has no top-level await. */
async function main(): Promise<void> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    const wanted = OLDEST_NODE.join(".");
    process.stderr.write(`error: this is Node ${process.versions.node}: install Node ${wanted} or later\n`);
    process.exitCode = 2;
    return;
  }
  // A reader that has had enough, as head, ends a command that goes on.
  const ended = new AbortController();
  process.stdout.on("error", () => ended.abort());
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());
  const env = { ...process.env, HOME: homedir() };
  const { stdout, stderr, exitCode } = await run({
    argv: process.argv.slice(2),
    env,
    now: Date.now,
    terminal: terminalOf(process.stdout, env),
    print: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
    signal: ended.signal,
  });
  // Not exit(): a pipe may still be reading the output.
  process.exitCode = exitCode;
  process.stderr.write(stderr);
  process.stdout.write(stdout);
}

void main();
