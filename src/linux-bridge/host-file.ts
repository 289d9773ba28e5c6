import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** What stands under a name in the host's CNI directory. */
export type HostFile =
  | { readonly kind: "absent" }
  | { readonly kind: "file"; readonly sha256: string; readonly mode: number }
  /** `target` is absolute; `dangling` when nothing is there. */
  | { readonly kind: "link"; readonly target: string; readonly dangling: boolean }
  /** A directory, a device: nothing that can be replaced by renaming. */
  | { readonly kind: "other" };

export async function inspectFile(path: string): Promise<HostFile> {
  const found = await unlessAbsent(lstat(path));
  if (found === undefined) return { kind: "absent" };
  if (found.isSymbolicLink()) {
    const target = resolve(dirname(path), await readlink(path));
    return { kind: "link", target, dangling: (await unlessAbsent(stat(path))) === undefined };
  }
  if (!found.isFile()) return { kind: "other" };
  const content = await unlessAbsent(readFile(path));
  return content === undefined
    ? { kind: "absent" }
    : { kind: "file", sha256: sha256Of(content), mode: found.mode & 0o7777 };
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
