import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../system-error.ts";

/** Where runtimes put the names of network namespaces. */
const RUNTIME_DIRECTORIES = ["/run/netns", "/var/run/netns"];

/**
 * Whether the namespace's path is there. A path elsewhere (`/proc/...`) can't be judged from inside this pod and is
 * `unseen`, and so is every path while the directory itself can't be seen, or was removed on the node: names are then made
 * in another one of that path.
 */
export async function netnsPresence(path: string, netnsDirectory: string): Promise<"present" | "gone" | "unseen"> {
  if (!RUNTIME_DIRECTORIES.includes(dirname(path))) return "unseen";
  if (!(await isLinked(netnsDirectory))) return "unseen";
  return (await isAbsent(join(netnsDirectory, basename(path)))) ? "gone" : "present";
}

async function isLinked(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).nlink > 0;
  } catch {
    return false;
  }
}

async function isAbsent(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}
