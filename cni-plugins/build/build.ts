/**
 * `npm run build:plugins [-- --arch amd64|arm64] [--reuse]`: makes the static executables `dist/cni/<arch>/{bridge,tuning,link-monitor}`.
 *
 * esbuild bundles the TypeScript, the build script of the Rust crate `native/` compiles it to QuickJS bytecode, and the crate
 * carries that inside. Nothing is done when the inputs are those of the last build. Tests and the demo call `buildPlugins`.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, copyFile, glob, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { formatPluginMark } from "../../src/api/plugin-mark.ts";
import { BuiltPlugins } from "./built-plugins.ts";
import { PLUGINS, writeBundles } from "./bundle.ts";
import { runCommand } from "./command.ts";
import { startOnce } from "./first-start.ts";
import { readFlags } from "./flags.ts";
import { cleanUpOnSignals, withTemporaryFolder } from "./temporary-folder.ts";
import {
  type Arch,
  BuildError,
  binutils,
  compilerVersions,
  crossTool,
  isCross,
  machineArch,
  requireTools,
  TARGETS,
} from "./toolchain.ts";

export interface BuildOptions {
  readonly arch?: Arch;
  readonly log?: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
  /** Whether executables that were built elsewhere from the same inputs will do. */
  readonly reuse?: boolean;
}

const ROOT = path.resolve(import.meta.dirname, "../..");
const CRATE = path.join(ROOT, "cni-plugins/native");
const STAMP = ".inputs.sha256";

/** Builds what is out of date and gives the directory of the executables. Throws BuildError for a missing tool. */
export async function buildPlugins(options: BuildOptions = {}): Promise<string> {
  const { arch = machineArch(), log = () => {}, env = process.env, reuse = true } = options;
  const directory = path.join(ROOT, "dist/cni", arch);
  const inputs = await hashInputs(arch, env);
  if (await isUpToDate(directory, inputs)) return directory;
  const built = new BuiltPlugins(env);
  const found = reuse ? await built.find(arch, inputs) : undefined;
  if (found !== undefined) {
    // The crate's tests read them.
    await writeBundles();
    await install(found, directory, inputs);
    return directory;
  }
  requireTools(arch, env);
  log(`building the CNI plugins for ${arch} (about a minute the first time)`);
  await writeBundles();
  await cargoBuild(arch, env);
  await install(await stripAndStart({ arch, log, env }), directory, inputs);
  await built.keep(arch, inputs, directory);
  return directory;
}

/** The folder of the executables without their symbols, with their marks. */
async function stripAndStart({ arch, log, env }: { arch: Arch; log(line: string): void; env: NodeJS.ProcessEnv }) {
  const release = path.join(CRATE, "target", TARGETS[arch], "release");
  const stripped = path.join(release, "stripped");
  await mkdir(stripped, { recursive: true });
  for (const plugin of PLUGINS) {
    const [linked, file] = [path.join(release, plugin), path.join(stripped, plugin)];
    const { code, output } = await run(binutils("strip", arch), ["-o", file, linked], env);
    if (code !== 0) throw new BuildError(`strip could not take the symbols out of ${linked}:\n${output.trimEnd()}`);
    await appendFile(file, formatPluginMark(plugin));
    if (!startOnce(plugin, file, arch, env)) log(`${plugin} for ${arch} was not started: install qemu-user to try it`);
  }
  return stripped;
}

/**
 * A reader sees the old executable or the new one, and one that runs is never written to. The stamp comes last: without it
 * the executables are not believed to be these inputs'.
 */
async function install(from: string, directory: string, inputs: string): Promise<void> {
  await withTemporaryFolder({ parent: path.dirname(directory), prefix: "unfinished-" }, async (temporary) => {
    await mkdir(directory, { recursive: true });
    for (const plugin of PLUGINS) await copyFile(path.join(from, plugin), path.join(temporary, plugin));
    await writeFile(path.join(temporary, STAMP), inputs);
    for (const name of [...PLUGINS, STAMP]) await rename(path.join(temporary, name), path.join(directory, name));
  });
}

/** Throws as buildPlugins would for a missing tool, if there is something to build, and builds nothing. */
export async function requirePluginsOrTools(options: BuildOptions = {}): Promise<void> {
  const { arch = machineArch(), env = process.env } = options;
  const inputs = await hashInputs(arch, env);
  if (await isUpToDate(path.join(ROOT, "dist/cni", arch), inputs)) return;
  if ((await new BuiltPlugins(env).find(arch, inputs)) === undefined) requireTools(arch, env);
}

async function hashInputs(arch: Arch, env: NodeJS.ProcessEnv): Promise<string> {
  const patterns = [
    "cni-plugins/**/*.{ts,rs,toml,lock}",
    "src/api/{names,node-state,plugin-mark}.ts",
    "package-lock.json",
  ];
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: ROOT })) if (!file.includes("/target/")) files.push(file);
  const hash = createHash("sha256").update(compilerVersions(arch, env));
  for (const file of files.sort()) {
    hash.update(file).update("\0");
    hash.update(await readFile(path.join(ROOT, file))).update("\0");
  }
  return hash.digest("hex");
}

async function isUpToDate(directory: string, inputs: string): Promise<boolean> {
  if (!PLUGINS.every((plugin) => existsSync(path.join(directory, plugin)))) return false;
  return (await readFile(path.join(directory, STAMP), "utf8").catch(() => "")) === inputs;
}

async function cargoBuild(arch: Arch, env: NodeJS.ProcessEnv): Promise<void> {
  const target = TARGETS[arch];
  const cargoHome = path.resolve(CRATE, env.CARGO_HOME || path.join(env.HOME || homedir(), ".cargo"));
  const flags = [
    "-Ctarget-feature=+crt-static",
    "-Crelocation-model=static",
    `--remap-path-prefix=${cargoHome}=cargo`,
    `--remap-path-prefix=${ROOT}=.`,
  ];
  const cross = {
    CC_aarch64_unknown_linux_gnu: crossTool("gcc"),
    AR_aarch64_unknown_linux_gnu: crossTool("ar"),
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER: crossTool("gcc"),
  };
  const args = ["build", "--release", "--locked", "--bins", "--target", target, "--target-dir", "target"];
  const { code, output } = await run("cargo", args, {
    ...env,
    ...(isCross(arch) ? cross : {}),
    CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f"),
    // Nothing unwinds the interpreter's C code: a panic aborts. Its tables were 70 kB of each executable.
    CFLAGS: "-fno-asynchronous-unwind-tables -fno-unwind-tables",
  });
  if (code !== 0) throw new BuildError(`cargo could not build the CNI plugins for ${arch}:\n${output.trimEnd()}`);
}

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const { code, stdout, stderr } = await runCommand(command, args, { cwd: CRATE, env });
  return { code, output: `${stdout}${stderr}` };
}

async function main(): Promise<void> {
  const options = { arch: { type: "string", default: machineArch() }, reuse: { type: "boolean" } } as const;
  const { arch, reuse = false } = readFlags(options);
  if (arch !== "amd64" && arch !== "arm64") throw new BuildError(`--arch must be amd64 or arm64, found ${arch}`);
  const directory = await buildPlugins({ arch, log: (line) => console.error(line), reuse });
  for (const plugin of PLUGINS) {
    const file = path.join(directory, plugin);
    console.log(`${path.relative(ROOT, file)}  ${((await stat(file)).size / 1e6).toFixed(2)} MB`);
  }
}

if (import.meta.main) {
  cleanUpOnSignals();
  await main().catch((error: unknown) => {
    console.error(error instanceof BuildError ? error.message : error);
    process.exitCode = 1;
  });
}
