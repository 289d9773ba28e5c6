import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
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
