import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sha256Of } from "./host-file.ts";

/** Temporary files are hidden, so that nobody takes one for a plugin. */
const TEMPORARY = /^\.[a-z.-]+\.[0-9a-f]{8}\.cluster-network-addons-tmp$/;

export const isTemporary = (name: string): boolean => TEMPORARY.test(name);

/**
 * Replaces the file or link at `path` by a copy of `source`, whose checksum is `sha256`. Everybody sees either the old file or the
 * whole new one, also after a power failure. A running executable keeps its old file. `mayReplace` is asked once the new file is
 * complete. If it says no, all stays as it is and the result is false.
 */
export async function replaceFile(
  path: string,
  source: string,
  sha256: string,
  mode: number,
  mayReplace: () => Promise<boolean> = async () => true,
): Promise<boolean> {
  const suffix = randomBytes(4).toString("hex");
  const temporary = join(dirname(path), `.${basename(path)}.${suffix}.cluster-network-addons-tmp`);
  try {
    await writeCopy(temporary, source, sha256, mode);
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

async function writeCopy(path: string, source: string, sha256: string, mode: number): Promise<void> {
  await using from = await open(source);
  await using to = await open(path, "wx", mode);
  if ((await sha256Of(from, (piece) => to.writeFile(piece))) !== sha256) {
    throw new Error(`${source} has changed since the start; restart the pod`);
  }
  await to.chmod(mode);
  await to.sync();
  await using written = await open(path);
  if ((await sha256Of(written)) !== sha256) {
    throw new Error(`${path} does not read back as it was written; check the disk`);
  }
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
