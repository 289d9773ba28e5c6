import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BuildError, machineArch, requireTools } from "../../cni-plugins/build.ts";

const FOREIGN = machineArch() === "amd64" ? "arm64" : "amd64";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "tools-"));
});
afterEach(() => rm(folder, { recursive: true }));

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
  for (const tool of ["cargo", "cc"]) await symlink("/bin/true", path.join(folder, tool));
  const [heading, ...tools] = missing(machineArch());
  expect([heading, tools]).toEqual([
    `the CNI plugins can't be built for ${machineArch()}:`,
    ["  strip was not found: install binutils"],
  ]);
});

it("says how to get Rust's library for the target", async () => {
  const tools = ["cargo", "cc", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip"];
  for (const tool of tools) await symlink("/bin/true", path.join(folder, tool));
  await symlink("/bin/true", path.join(folder, "rustc"));
  expect(missing(FOREIGN).slice(1)).toEqual([
    expect.stringMatching(/^ {2}Rust has no standard library for .*: run `rustup target add .*-unknown-linux-gnu`$/),
  ]);
});
