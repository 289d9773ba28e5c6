import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "./atomic-file.ts";

/**
 * Which files in the host's CNI directory are ours: a hidden file beside them lists, for each name, the checksums of what
 * we put there. A file counts as ours when its checksum is listed (or is that of the plugin shipped now), so an upgrade
 * recognises what its predecessor installed, and a file that a distribution package or an administrator put in its place
 * since is left alone. A checksum is listed before its file is put in place: a crash in between leaves no orphan.
 */
export type Manifest = Readonly<Record<string, readonly string[]>>;

export const MANIFEST_NAME = ".cluster-network-addons.json";

/** Old versions are remembered, newest first, for upgrades that failed half-way. */
const MAX_CHECKSUMS = 16;

const MAX_MANIFEST_BYTES = 64 * 1024;

/** A missing or damaged manifest is an empty one: nothing but what is shipped now is then ours. */
export async function readManifest(directory: string): Promise<Manifest> {
  try {
    const text = await readFile(join(directory, MANIFEST_NAME), "utf8");
    return text.length <= MAX_MANIFEST_BYTES ? parseManifest(text) : {};
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return {};
    throw error;
  }
}

export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const text = `${JSON.stringify({ version: 1, files: manifest }, undefined, 2)}\n`;
  await replaceFile(join(directory, MANIFEST_NAME), Buffer.from(text), 0o644);
}

/** The manifest with the checksum listed first under that name; the same object when it is so already. */
export function withChecksum(manifest: Manifest, name: string, sha256: string): Manifest {
  const known = checksumsOf(manifest, name);
  if (known[0] === sha256) return manifest;
  const checksums = [sha256, ...known.filter((checksum) => checksum !== sha256)].slice(0, MAX_CHECKSUMS);
  return { ...manifest, [name]: checksums };
}

export function checksumsOf(manifest: Manifest, name: string): readonly string[] {
  return Object.hasOwn(manifest, name) ? (manifest[name] ?? []) : [];
}

function parseManifest(text: string): Manifest {
  const { files } = (JSON.parse(text) ?? {}) as { files?: unknown };
  const entries = Object.entries((files ?? {}) as Record<string, unknown>).flatMap(([name, checksums]) =>
    Array.isArray(checksums) ? [[name, checksums.filter((item) => typeof item === "string")] as const] : [],
  );
  return Object.fromEntries(entries);
}
