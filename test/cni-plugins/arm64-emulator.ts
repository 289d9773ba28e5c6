/** What to put before a program for arm64: nothing on such a machine, else qemu-user. */

import { findExecutable } from "../cluster/requirements.ts";

/** Undefined where there is none. */
export function findArm64Emulator(): readonly string[] | undefined {
  if (process.arch === "arm64") return [];
  const emulator = findExecutable("qemu-aarch64-static");
  return emulator === undefined ? undefined : [emulator];
}
