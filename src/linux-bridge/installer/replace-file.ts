import { randomBytes } from "node:crypto";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sha256Of } from "./host-file.ts";

/** Temporary files are hidden, so that nobody takes one for a plugin. */
const TEMPORARY = /^\.[a-z.-]+\.[0-9a-f]{8}\.cluster-network-addons-tmp$/;

export const isTemporary = (name: string): boolean => TEMPORARY.test(name);

/**
 * Replaces the file or link at `path`. Everybody sees either the old file or the whole new one, also after a power failure. A
 * running executable keeps its old file. `mayReplace` is asked once the new file is complete. If it says no, all stays as it is
 * and the result is false.
 */
export async function replaceFile(
  path: string,
  content: Uint8Array,
  mode: number,
  mayReplace: () => Promise<boolean> = async () => true,
): Promise<boolean> {
  const suffix = randomBytes(4).toString("hex");
  const temporary = join(dirname(path), `.${basename(path)}.${suffix}.cluster-network-addons-tmp`);
  try {
    const file = await open(temporary, "wx", mode);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    if (sha256Of(await readFile(temporary)) !== sha256Of(content)) {
      throw new Error(`${temporary} does not read back as it was written; check the disk`);
    }
    if (!(await mayReplace())) {
      await rm(temporary);
      return false;
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
  return true;
}

/** Removes temporary files of installers that were killed. Younger ones may belong to an installer at work. */
export async function removeTemporaries(directory: string, minAgeMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!isTemporary(name)) continue;
    const path = join(directory, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs >= minAgeMs) await rm(path, { force: true });
  }
}

export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
