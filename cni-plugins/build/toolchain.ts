/** The programs that build the CNI plugins for an architecture, and what to install where one is missing. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

export type Arch = "amd64" | "arm64";

/** A sentence for the person at the terminal, without a stack. */
export class BuildError extends Error {}

/** Rust's names for the targets. */
export const TARGETS: Readonly<Record<Arch, string>> = {
  amd64: "x86_64-unknown-linux-gnu",
  arm64: "aarch64-unknown-linux-gnu",
};

/** Debian's, with its binutils. */
const CROSS_PACKAGE = "gcc-aarch64-linux-gnu";

export function machineArch(): Arch {
  if (process.arch === "x64") return "amd64";
  if (process.arch === "arm64") return "arm64";
  throw new BuildError(
    `the CNI plugins are made for amd64 and arm64, this machine is ${process.arch}: build them on another`,
  );
}

export function isCross(arch: Arch): boolean {
  return arch !== machineArch();
}

export function binutils(name: string, arch: Arch): string {
  return isCross(arch) ? crossTool(name) : name;
}

export function crossTool(name: string): string {
  return `aarch64-linux-gnu-${name}`;
}

/** Of the compilers for an architecture: others make other bytes of the same source. Empty where there is none. */
export function compilerVersions(arch: Arch, env: NodeJS.ProcessEnv): string {
  const compilers = ["rustc", isCross(arch) ? crossTool("gcc") : "cc"];
  return compilers.map((tool) => spawnSync(tool, ["--version"], { env, encoding: "utf8" }).stdout ?? "").join("");
}

/** Throws one BuildError that names all that is missing. */
export function requireTools(arch: Arch, env: NodeJS.ProcessEnv): void {
  const tools = [
    { tool: "cc", install: "a C compiler (gcc)" },
    ...(isCross(arch) ? [{ tool: crossTool("gcc"), install: `a C compiler for ${arch} (${CROSS_PACKAGE})` }] : []),
    { tool: binutils("strip", arch), install: isCross(arch) ? `binutils for ${arch} (${CROSS_PACKAGE})` : "binutils" },
  ];
  const missing = tools
    .filter(({ tool }) => spawnSync(tool, ["--version"], { env, stdio: "ignore" }).error !== undefined)
    .map(({ tool, install }) => `${tool} was not found: install ${install}`);
  const all = [...missingOfRust(TARGETS[arch], env), ...missing];
  if (all.length > 0) throw new BuildError(`the CNI plugins can't be built for ${arch}:\n  ${all.join("\n  ")}`);
}

/** One sentence at most: without a program there is no toolchain, without a toolchain no standard library. */
function missingOfRust(target: string, env: NodeJS.ProcessEnv): readonly string[] {
  for (const tool of ["cargo", "rustc"]) {
    const { error, status } = spawnSync(tool, ["--version"], { env, stdio: "ignore" });
    if (error !== undefined) return [`${tool} was not found: install Rust 1.87 or later (https://rustup.rs)`];
    // What rustup installs in the place of both fails until it has a toolchain to start.
    if (status !== 0) return [`${tool} has no Rust toolchain: run \`rustup default stable\``];
  }
  const { stdout } = spawnSync("rustc", ["--print", "target-libdir", "--target", target], { env, encoding: "utf8" });
  if (existsSync((stdout ?? "").trim())) return [];
  return [`Rust has no standard library for ${target}: run \`rustup target add ${target}\``];
}
