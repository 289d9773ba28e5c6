import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

/** What stands under a name in the host's CNI directory. */
export type HostFile =
  | { readonly kind: "absent" }
  | { readonly kind: "file"; readonly sha256: string; readonly mode: number }
  /** `target` is a path on the node; `at` it there is a file, nothing, or what can't be seen from here. */
  | { readonly kind: "link"; readonly target: string; readonly at: "present" | "absent" | "unseen" }
  /** A directory, a device: nothing that can be replaced by renaming. */
  | { readonly kind: "other" };

/** `pathOnNode`: what the file's path is outside this process's mounts, where its directory is all of the node it sees. */
export async function inspectFile(path: string, pathOnNode = path): Promise<HostFile> {
  const found = await unlessAbsent(lstat(path));
  if (found === undefined) return { kind: "absent" };
  if (found.isSymbolicLink()) {
    const target = resolve(dirname(pathOnNode), await readlink(path));
    const seen = seenPath(target, path, pathOnNode);
    const at = seen === undefined ? "unseen" : (await unlessAbsent(lstat(seen))) === undefined ? "absent" : "present";
    return { kind: "link", target, at };
  }
  if (!found.isFile()) return { kind: "other" };
  const content = await unlessAbsent(readFile(path));
  return content === undefined
    ? { kind: "absent" }
    : { kind: "file", sha256: sha256Of(content), mode: found.mode & 0o7777 };
}

/** Where this process sees a path of the node. */
function seenPath(target: string, path: string, pathOnNode: string): string | undefined {
  if (path === pathOnNode) return target;
  const within = relative(dirname(pathOnNode), target);
  return within.startsWith("..") ? undefined : join(dirname(path), within);
}

export function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** What a directory holds; nothing when it is not there. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await unlessAbsent(readdir(directory))) ?? [];
}

/** The system's error code (`ENOENT`, `EROFS`, ...), if it is an error of the system. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

async function unlessAbsent<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
