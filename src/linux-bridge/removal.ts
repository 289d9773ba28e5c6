import { rm } from "node:fs/promises";
import { join } from "node:path";
import { removeTemporaries, syncDirectory } from "./atomic-file.ts";
import { withDirectoryLock } from "./directory-lock.ts";
import { inspectFile } from "./host-file.ts";
import { isOurs, type Target } from "./install-plan.ts";
import { checksumsOf, MANIFEST_NAME, readManifest } from "./manifest.ts";

export interface RemovalReport {
  readonly removed: readonly string[];
  /** Names of ours under which somebody else's file stands: it stays. */
  readonly foreign: readonly string[];
}

/** Removes exactly what is ours from the CNI directory: names of this version and those that the manifest remembers. */
export function removePlugins(directory: string, targets: readonly Target[]): Promise<RemovalReport> {
  return withDirectoryLock(directory, () => removeAll(directory, targets));
}

async function removeAll(directory: string, targets: readonly Target[]): Promise<RemovalReport> {
  const manifest = await readManifest(directory);
  const removed: string[] = [];
  const foreign: string[] = [];
  for (const name of new Set([...targets.map((target) => target.name), ...Object.keys(manifest)])) {
    if (!isPlainName(name)) continue;
    const path = join(directory, name);
    const found = await inspectFile(path);
    if (found.kind === "absent") continue;
    const shipped = targets.find((target) => target.name === name)?.plugin.sha256;
    if (isOurs(found, shipped, checksumsOf(manifest, name))) {
      await rm(path, { force: true });
      removed.push(name);
    } else {
      foreign.push(name);
    }
  }
  await removeTemporaries(directory, 0);
  await rm(join(directory, MANIFEST_NAME), { force: true });
  await syncDirectory(directory);
  return { removed, foreign };
}

/** A manifest that was tampered with must not lead out of the directory. */
function isPlainName(name: string): boolean {
  return !name.includes("/") && !name.startsWith(".");
}
