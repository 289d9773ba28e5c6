/** What to put before a program for arm64: nothing on such a machine, else qemu-user, installed or out of its Debian package. */

import { spawnSync } from "node:child_process";
import path from "node:path";
import { unpackDebian } from "./debian-package.ts";

/** Undefined where there is none to be had. */
export async function findArm64Emulator(): Promise<readonly string[] | undefined> {
  if (process.arch === "arm64") return [];
  const name = "qemu-aarch64-static";
  if (spawnSync(name, ["--version"]).error === undefined) return [name];
  const root = await unpackDebian(["qemu-user-static"], process.env);
  return root === undefined ? undefined : [path.join(root, "usr/bin", name)];
}
