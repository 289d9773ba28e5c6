import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "./host-file.ts";

/** Where runtimes put the names of network namespaces. */
const RUNTIME_DIRECTORIES = ["/run/netns", "/var/run/netns"];

/**
 * Whether the namespace's path is gone for certain. A path elsewhere (`/proc/...`) can't be judged from inside this pod
 * and counts as there, and so does every path while the directory itself can't be seen.
 */
export async function isNetnsGone(path: string, netnsDirectory: string): Promise<boolean> {
  if (!RUNTIME_DIRECTORIES.includes(dirname(path))) return false;
  if (await isAbsent(netnsDirectory)) return false;
  return isAbsent(join(netnsDirectory, basename(path)));
}

async function isAbsent(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}
