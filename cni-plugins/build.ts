/**
 * `npm run build:plugins [-- --arch amd64|arm64] [--reuse]`: makes the static executables `dist/cni/<arch>/{bridge,tuning,link-monitor}`.
 *
 * TypeScript is bundled by esbuild, compiled to QuickJS bytecode by the build script of the Rust crate `host/`, and
 * linked into it. Nothing is done when the inputs are those of the last build. Tests and the demo call `buildPlugins`.
 */

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, glob, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { BuiltPlugins } from "./built-plugins.ts";
import { PLUGINS, writeBundles } from "./bundle.ts";
import { answerProcessorQueries } from "./processor-queries.ts";
import { replaceFile } from "./replace-file.ts";

export type Arch = "amd64" | "arm64";

export interface BuildOptions {
  readonly arch?: Arch;
  readonly log?: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
  /** Whether executables that were built elsewhere from the same inputs will do. */
  readonly reuse?: boolean;
}

/** A sentence for the person at the terminal, without a stack. */
export class BuildError extends Error {}

const ROOT = path.resolve(import.meta.dirname, "..");
const HOST = path.join(ROOT, "cni-plugins/host");
const STAMP = ".inputs.sha256";

const TARGETS: Readonly<Record<Arch, string>> = {
  amd64: "x86_64-unknown-linux-gnu",
  arm64: "aarch64-unknown-linux-gnu",
};

/** Builds what is out of date and gives the directory of the executables. Throws BuildError for a missing tool. */
export async function buildPlugins(options: BuildOptions = {}): Promise<string> {
  const { arch = machineArch(), log = () => {}, env = process.env, reuse = true } = options;
  const directory = path.join(ROOT, "dist/cni", arch);
  const inputs = await hashInputs();
  if (await isUpToDate(directory, inputs)) return directory;
  const built = new BuiltPlugins(env);
  const found = reuse ? await built.find(arch, inputs) : undefined;
  if (found !== undefined) {
    // The crate's tests read them.
    await writeBundles();
    await install(found, directory, inputs);
    return directory;
  }
  const unstripped = await buildUnstripped({ arch, log, env });
  const stripped = path.join(unstripped, "stripped");
  await mkdir(stripped, { recursive: true });
  for (const plugin of PLUGINS) await strip(arch, path.join(unstripped, plugin), path.join(stripped, plugin), env);
  await install(stripped, directory, inputs);
  await built.keep(arch, inputs, directory);
  return directory;
}

/** The executables with their symbols, in a folder of the crate's; else as `buildPlugins` gives them. */
export async function buildUnstripped(options: Omit<BuildOptions, "reuse"> = {}): Promise<string> {
  const { arch = machineArch(), log = () => {}, env = process.env } = options;
  requireTools(arch, env);
  log(`building the CNI plugins for ${arch} (about a minute the first time)`);
  await writeBundles();
  await cargoBuild(arch, env);
  const release = path.join(HOST, "target", TARGETS[arch], "release");
  const unstripped = path.join(release, "unstripped");
  await mkdir(unstripped, { recursive: true });
  for (const plugin of PLUGINS) {
    const executable = await readFile(path.join(release, plugin));
    if (arch === "amd64") answerProcessorQueries(executable);
    await writeFile(path.join(unstripped, plugin), executable, { mode: 0o755 });
  }
  return unstripped;
}

async function strip(arch: Arch, linked: string, stripped: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { code, output } = await run(binutils("strip", arch), ["-o", stripped, linked], env);
  if (code !== 0) throw new BuildError(`strip could not take the symbols out of ${linked}:\n${output.trimEnd()}`);
}

/** The stamp comes last: without it the executables are not believed to be these inputs'. */
async function install(from: string, directory: string, inputs: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const plugin of PLUGINS) {
    await replaceFile(path.join(directory, plugin), (temporary) => copyFile(path.join(from, plugin), temporary));
  }
  await replaceFile(path.join(directory, STAMP), (temporary) => writeFile(temporary, inputs));
}

/** Throws as buildPlugins would for a missing tool, if there is something to build, and builds nothing. */
export async function requirePluginsOrTools(options: BuildOptions = {}): Promise<void> {
  const { arch = machineArch(), env = process.env } = options;
  const inputs = await hashInputs();
  if (await isUpToDate(path.join(ROOT, "dist/cni", arch), inputs)) return;
  if ((await new BuiltPlugins(env).find(arch, inputs)) === undefined) requireTools(arch, env);
}

export function machineArch(): Arch {
  if (process.arch === "x64") return "amd64";
  if (process.arch === "arm64") return "arm64";
  throw new BuildError(`the CNI plugins are made for amd64 and arm64, this machine is ${process.arch}`);
}

async function hashInputs(): Promise<string> {
  const patterns = ["cni-plugins/**/*.{ts,rs,toml,lock,txt}", "src/api/names.ts", "package-lock.json"];
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: ROOT })) if (!file.includes("/target/")) files.push(file);
  const hash = createHash("sha256");
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

/** Throws one BuildError that names all that is missing. */
export function requireTools(arch: Arch, env: NodeJS.ProcessEnv): void {
  const tools = [
    { tool: "cargo", install: "Rust 1.87 or later (https://rustup.rs)" },
    { tool: "cc", install: "a C compiler (gcc)" },
    ...(isCross(arch) ? [{ tool: crossTool("gcc"), install: `a C compiler for ${arch} (${CROSS_PACKAGE})` }] : []),
    { tool: binutils("strip", arch), install: isCross(arch) ? `binutils for ${arch} (${CROSS_PACKAGE})` : "binutils" },
  ];
  const missing = tools
    .filter(({ tool }) => spawnSync(tool, ["--version"], { env, stdio: "ignore" }).error !== undefined)
    .map(({ tool, install }) => `${tool} was not found: install ${install}`);
  const target = TARGETS[arch];
  const rustc = spawnSync("rustc", ["--print", "target-libdir", "--target", target], { env, encoding: "utf8" });
  if (rustc.error === undefined && !existsSync((rustc.stdout ?? "").trim())) {
    missing.push(`Rust has no standard library for ${target}: run \`rustup target add ${target}\``);
  }
  if (missing.length > 0)
    throw new BuildError(`the CNI plugins can't be built for ${arch}:\n  ${missing.join("\n  ")}`);
}

function isCross(arch: Arch): boolean {
  return arch !== machineArch();
}

function binutils(name: string, arch: Arch): string {
  return isCross(arch) ? crossTool(name) : name;
}

/** Debian's, with its binutils. */
const CROSS_PACKAGE = "gcc-aarch64-linux-gnu";

function crossTool(name: string): string {
  return `aarch64-linux-gnu-${name}`;
}

async function cargoBuild(arch: Arch, env: NodeJS.ProcessEnv): Promise<void> {
  const target = TARGETS[arch];
  const cargoHome = env.CARGO_HOME ?? path.join(homedir(), ".cargo");
  const flags = [
    "-Ctarget-feature=+crt-static",
    "-Crelocation-model=static",
    `--remap-path-prefix=${cargoHome}=cargo`,
    `--remap-path-prefix=${ROOT}=.`,
    ...(isCross(arch) ? [] : [`-Clinker=${await writeLinker()}`]),
  ];
  const cross = {
    CC_aarch64_unknown_linux_gnu: crossTool("gcc"),
    AR_aarch64_unknown_linux_gnu: crossTool("ar"),
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER: crossTool("gcc"),
  };
  const args = ["build", "--release", "--locked", "--bins", "--target", target];
  const { code, output } = await run("cargo", args, {
    ...env,
    ...(isCross(arch) ? cross : {}),
    CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f"),
  });
  if (code !== 0) throw new BuildError(`cargo could not build the CNI plugins for ${arch}:\n${output.trimEnd()}`);
}

/** A program that runs `ordered-link.ts`. By its name rustc takes it for the C compiler that it would start to link. */
async function writeLinker(): Promise<string> {
  const linker = path.join(HOST, "target/ordered-link/cc");
  const program = path.join(import.meta.dirname, "ordered-link.ts");
  await mkdir(path.dirname(linker), { recursive: true });
  await replaceFile(linker, (temporary) =>
    writeFile(temporary, `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(program)} "$@"\n`, { mode: 0o755 }),
  );
  return linker;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function run(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: HOST, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.on("error", reject).on("close", (code) => resolve({ code, output }));
  });
}

async function main(): Promise<void> {
  const options = { arch: { type: "string", default: machineArch() }, reuse: { type: "boolean" } } as const;
  const { arch, reuse = false } = parseArgs({ options }).values;
  if (arch !== "amd64" && arch !== "arm64") throw new BuildError(`--arch must be amd64 or arm64, found ${arch}`);
  const directory = await buildPlugins({ arch, log: (line) => console.error(line), reuse });
  for (const plugin of PLUGINS) {
    const file = path.join(directory, plugin);
    console.log(`${path.relative(ROOT, file)}  ${((await stat(file)).size / 1e6).toFixed(2)} MB`);
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(error instanceof BuildError ? error.message : error);
    process.exitCode = 1;
  });
}
