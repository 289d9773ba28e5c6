import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FormerCniBinDir } from "../../api/former-cni-bin-dirs.ts";
import type { Log } from "../../kube/log.ts";
import { readMark } from "./host-file.ts";
import { installedNames } from "./install-plan.ts";
import { removeTemporaries, syncDirectory } from "./replace-file.ts";

/** Removes exactly what is ours from the CNI directory, of whatever version. Gives the names. */
export async function removePlugins(directory: string): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await readdir(directory)) {
    const mark = await readMark(join(directory, name));
    // A copy under another name is whoever's who made it.
    if (mark === undefined || !installedNames(mark.executable).includes(name)) continue;
    await rm(join(directory, name), { force: true });
    removed.push(name);
  }
  await removeTemporaries(directory, 0);
  await syncDirectory(directory);
  return removed;
}

/**
 * Removes our files from a former directory, of whatever version. Call it when all plugins are in the present one. A
 * failure is logged and does not count: the plugins of the present directory need nothing from a former one.
 */
export async function cleanFormerDirectory(former: FormerCniBinDir, present: string, log: Log): Promise<void> {
  const { directory, directoryOnNode } = former;
  try {
    // Another path may lead to the same directory.
    if (await isSameDirectory(directory, present)) return;
    const removed = await removePlugins(directory);
    if (removed.length > 0) log.info({ removed }, `removed the CNI plugins from ${directoryOnNode}, used before`);
  } catch (error) {
    log.warn({ err: error }, `the CNI plugins stay in ${directoryOnNode}, used before: remove them by hand`);
  }
}

async function isSameDirectory(one: string, other: string): Promise<boolean> {
  const [a, b] = [await stat(one), await stat(other)];
  return a.dev === b.dev && a.ino === b.ino;
}
