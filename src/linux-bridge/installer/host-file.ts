import { createHash } from "node:crypto";
import { type FileHandle, lstat, open, readlink } from "node:fs/promises";
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

/**
 * `pathOnNode`: the file's path on the node, of which this process may see no more than the file's directory. `read`: of a file,
 * in place of reading all of it.
 */
export async function inspectFile(path: string, pathOnNode = path, read = readContent): Promise<HostFile> {
  const found = await unlessAbsent(lstat(path));
  if (found === undefined) return { kind: "absent" };
  if (found.isSymbolicLink()) {
    const target = resolve(dirname(pathOnNode), await readlink(path));
    const seen = seenPath(target, path, pathOnNode);
    const at = seen === undefined ? "unseen" : (await unlessAbsent(lstat(seen))) === undefined ? "absent" : "present";
    return { kind: "link", target, at };
  }
  if (!found.isFile()) return { kind: "other" };
  const content = await read(path);
  return content === undefined ? { kind: "absent" } : { kind: "file", mode: found.mode & 0o7777, ...content };
}

type Content = Pick<HostFile & { kind: "file" }, "sha256" | "mark">;

async function readContent(path: string): Promise<Content | undefined> {
  await using file = await unlessAbsent(open(path));
  return file && { sha256: await sha256Of(file), mark: await markOf(file) };
}

/** A buffer for a whole file would stay in the memory of a process at rest. */
const PIECE_BYTES = 64 * 1024;

/** Reads from where the file stands to its end. `copy`: gets each piece, which is overwritten after that. */
export async function sha256Of(file: FileHandle, copy?: (piece: Uint8Array) => Promise<void>): Promise<string> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return hash.digest("hex");
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await copy?.(piece);
  }
}

/** Two writes within this time may have the same time of change: file systems count ticks. */
const RECENT_MS = 2_000;

/** Contents of files that are looked at again and again: one is read anew when something of it has changed. */
export class KnownContents {
  readonly #known = new Map<string, { readonly identity: string; readonly content: Content }>();

  readonly of = async (path: string): Promise<Content | undefined> => {
    const found = await unlessAbsent(lstat(path, { bigint: true }));
    // Nobody can set the time of the last change.
    const identity = found && [found.dev, found.ino, found.size, found.ctimeNs].join(" ");
    const known = this.#known.get(path);
    if (known?.identity === identity) return known?.content;
    this.#known.delete(path);
    const isRecent = found === undefined || Date.now() - Number(found.ctimeMs) < RECENT_MS;
    const content = await readContent(path);
    if (content !== undefined && identity !== undefined && !isRecent) this.#known.set(path, { identity, content });
    return content;
  };
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
  await using file = await open(path);
  return await markOf(file);
}

async function markOf(file: FileHandle): Promise<PluginMark | undefined> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({ position: Math.max(0, size - MARK_BYTES), length: MARK_BYTES });
  return parsePluginMark(buffer.toString("latin1", 0, bytesRead));
}
