import { stat } from "node:fs/promises";
import type { FormerCniBinDir } from "../../api/former-cni-bin-dirs.ts";
import type { Log } from "../../kube/log.ts";
import { removePlugins } from "./removal.ts";

/**
 * Removes our files from a former directory, of whatever version. Call it when all plugins are in the present one. A
 * failure is told and does not count: the plugins of the present directory need nothing from a former one.
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
