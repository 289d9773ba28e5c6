/** Starts what was built, once: an executable that cannot start is found by the build and not by a node. */

import { spawnSync } from "node:child_process";
import type { PluginName } from "./bundle.ts";
import { type Arch, BuildError, isCross } from "./toolchain.ts";

/** Those of qemu-user and of qemu-user-static. */
const EMULATORS = ["qemu-aarch64", "qemu-aarch64-static"];

const LIMIT_MS = 30_000;

interface FirstStart {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly status: number;
  /** In what it prints. */
  readonly prints: string;
}

/** Calls that run the bytecode and change nothing on the machine. */
const STARTS: Readonly<Record<PluginName, FirstStart>> = {
  bridge: { args: [], env: {}, status: 0, prints: "CNI bridge plugin" },
  tuning: { args: [], env: {}, status: 0, prints: "CNI tuning plugin" },
  "link-monitor": { args: ["--help"], env: {}, status: 2, prints: "usage: link-monitor" },
};

/** False where this machine cannot start executables of that architecture. Throws a BuildError for one that fails. */
export function startOnce(plugin: PluginName, file: string, arch: Arch, env: NodeJS.ProcessEnv): boolean {
  const emulator = isCross(arch) ? EMULATORS.find((name) => isThere(name, env)) : undefined;
  if (isCross(arch) && emulator === undefined) return false;
  const start = STARTS[plugin];
  const [command = file, ...args] = [...(emulator === undefined ? [] : [emulator]), file, ...start.args];
  const options = { env: { PATH: env.PATH, ...start.env }, encoding: "utf8", timeout: LIMIT_MS, input: "" } as const;
  const { error, status, signal, stdout, stderr } = spawnSync(command, args, options);
  const printed = `${stdout ?? ""}${stderr ?? ""}`;
  if (status === start.status && printed.includes(start.prints)) return true;
  const end = error?.message ?? (signal === null ? `it exits with ${status}` : `it is ended by ${signal}`);
  throw new BuildError(
    `${plugin} was built for ${arch} and does not start: ${end}${printed && `:\n${printed.trim()}`}`,
  );
}

function isThere(program: string, env: NodeJS.ProcessEnv): boolean {
  return spawnSync(program, ["--version"], { env, stdio: "ignore" }).error === undefined;
}
