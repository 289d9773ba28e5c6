import { createHash } from "node:crypto";
import { lstat, open, readFile, readlink } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { MARK_BYTES, type PluginMark, parsePluginMark } from "../../api/plugin-mark.ts";
import { unlessAbsent } from "../system-error.ts";

/** What stands under a name in the host's CNI directory. */
export type HostFile =
  | { readonly kind: "absent" }
  /** `mark`: of a plugin of ours. */
  | { readonly kind: "file"; readonly sha256: string; readonly mode: number; readonly mark: PluginMark | undefined }
  /** `target` is a path on the node. `at`: whether something is there, as far as this process sees the node. */
  | { readonly kind: "link"; readonly target: string; readonly at: "present" | "absent" | "unseen" }
  /** A directory or a device: a rename can't replace it. */
  | { readonly kind: "other" };

/** `pathOnNode`: the file's path on the node, of which this process may see no more than the file's directory. */
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
  if (content === undefined) return { kind: "absent" };
  const mark = parsePluginMark(content.toString("latin1", Math.max(0, content.length - MARK_BYTES)));
  return { kind: "file", sha256: sha256Of(content), mode: found.mode & 0o7777, mark };
}

/** Where this process sees a path of the node. */
function seenPath(target: string, path: string, pathOnNode: string): string | undefined {
  if (path === pathOnNode) return target;
  const within = relative(dirname(pathOnNode), target);
  return within.startsWith("..") ? undefined : join(dirname(path), within);
}

/** The mark of a file of any size. Undefined for what is no file. */
export async function readMark(path: string): Promise<PluginMark | undefined> {
  if (!(await unlessAbsent(lstat(path)))?.isFile()) return undefined;
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read({ position: Math.max(0, size - MARK_BYTES), length: MARK_BYTES });
    return parsePluginMark(buffer.toString("latin1", 0, bytesRead));
  } finally {
    await file.close();
  }
}

export function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
