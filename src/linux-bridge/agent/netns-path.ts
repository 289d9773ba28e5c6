import { lstat, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { NetnsDirectory } from "../../api/netns-directories.ts";
import { errorCode } from "../system-error.ts";

/**
 * Whether the namespace's path is there. `unseen` is what this pod can't judge: a path in a directory that it does not have
 * (`/proc/...`), a name that leads there, and every path while its directory can't be seen, or was removed on the node:
 * names are then made in another one of that path.
 */
export async function netnsPresence(
  path: string,
  directories: readonly NetnsDirectory[],
): Promise<"present" | "gone" | "unseen"> {
  const directory = directories.find(({ directoryOnNode }) => directoryOnNode === dirname(path))?.directory;
  if (directory === undefined || !(await isLinked(directory))) return "unseen";
  try {
    return (await lstat(join(directory, basename(path)))).isSymbolicLink() ? "unseen" : "present";
  } catch (error) {
    return errorCode(error) === "ENOENT" ? "gone" : "unseen";
  }
}

async function isLinked(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).nlink > 0;
  } catch {
    return false;
  }
}
