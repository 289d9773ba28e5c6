import { chmod, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BuildError, machineArch, requireTools } from "../../../cni-plugins/build/toolchain.ts";

const FOREIGN = machineArch() === "amd64" ? "arm64" : "amd64";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "tools-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function provide(...tools: string[]): Promise<void> {
  for (const tool of tools) await symlink("/bin/true", path.join(folder, tool));
}

/** A program of the machine's that prints this and exits with that. */
async function provideProgram(tool: string, printed: string, status: number): Promise<void> {
  const file = path.join(folder, tool);
  await writeFile(file, `#!/bin/sh\necho '${printed}'\nexit ${status}\n`);
  await chmod(file, 0o755);
}

function missing(arch: "amd64" | "arm64"): string[] {
  try {
    requireTools(arch, { PATH: folder });
  } catch (error) {
    if (error instanceof BuildError) return error.message.split("\n");
    throw error;
  }
  return [];
}

it("names every tool that is missing, and what to install, at once", () => {
  expect(missing(FOREIGN)).toEqual([
    `the CNI plugins can't be built for ${FOREIGN}:`,
    "  cargo was not found: install Rust 1.87 or later (https://rustup.rs)",
    "  cc was not found: install a C compiler (gcc)",
    `  aarch64-linux-gnu-gcc was not found: install a C compiler for ${FOREIGN} (gcc-aarch64-linux-gnu)`,
    `  aarch64-linux-gnu-strip was not found: install binutils for ${FOREIGN} (gcc-aarch64-linux-gnu)`,
  ]);
});

it("asks for no tools of another architecture where none is built for", async () => {
  await provide("cargo", "cc");
  await provideProgram("rustc", "/", 0);
  expect(missing(machineArch())).toEqual([
    `the CNI plugins can't be built for ${machineArch()}:`,
    "  strip was not found: install binutils",
  ]);
});

it("says that the compiler is missing, and nothing of its library", async () => {
  await provide("cargo", "cc", "strip");
  expect(missing(machineArch()).slice(1)).toEqual([
    "  rustc was not found: install Rust 1.87 or later (https://rustup.rs)",
  ]);
});

it("says that there is no toolchain, and nothing of its library, where rustup has none", async () => {
  await provide("cc", "strip");
  await provideProgram("cargo", "error: rustup could not choose a version of cargo to run", 1);
  await provideProgram("rustc", "error: rustup could not choose a version of rustc to run", 1);
  expect(missing(machineArch()).slice(1)).toEqual(["  cargo has no Rust toolchain: run `rustup default stable`"]);
});

it("says how to get Rust's library for the target, and nothing of a toolchain", async () => {
  await provide("cargo", "cc", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip");
  await provideProgram("rustc", "/no/such/folder", 0);
  expect(missing(FOREIGN).slice(1)).toEqual([
    expect.stringMatching(/^ {2}Rust has no standard library for .*: run `rustup target add .*-unknown-linux-gnu`$/),
  ]);
});

it("asks for nothing where all is there", async () => {
  await provide("cargo", "cc", "strip");
  await provideProgram("rustc", "/", 0);
  expect(missing(machineArch())).toEqual([]);
});
