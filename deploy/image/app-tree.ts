/** What is below the image's root: the bundles, the CNI executables beside them, and both as a folder on this machine. */

import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { PLUGINS } from "../../cni-plugins/build/bundle.ts";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";
import { type Arch, machineArch } from "../../cni-plugins/build/toolchain.ts";
import { pluginFolder } from "../../src/api/image.ts";
import { bundleProcesses } from "./bundles.ts";
import { file, type Tree } from "./tree.ts";

export interface AppTree {
  readonly tree: Tree;
  /** Source files that have code in the bundles, relative to the repository. */
  readonly sources: readonly string[];
}

const FOLDER = path.resolve(import.meta.dirname, "../../dist");
const PREFIX = "app-";
/** Longer than any cluster runs. */
const UNUSED_MS = 24 * 3_600_000;

/** Builds the CNI executables where they are out of date. */
export async function appTree(arch: Arch, log: (line: string) => void = () => {}): Promise<AppTree> {
  const [{ tree, sources }, plugins] = await Promise.all([bundleProcesses(arch), buildPlugins({ arch, log })]);
  const executables = PLUGINS.map(
    async (name) => [`${pluginFolder(arch)}/${name}`, file(await readFile(path.join(plugins, name)), 0o755)] as const,
  );
  return { tree: new Map([...tree, ...(await Promise.all(executables))]), sources };
}

/** The tree for this machine as a folder that its content names. Who plays the image (`test/cluster`) shows it to pods. */
export async function writeAppTree(log?: (line: string) => void): Promise<string> {
  const { tree } = await appTree(machineArch(), log);
  const hash = createHash("sha256");
  for (const [name, entry] of tree) {
    if (entry.kind === "file") hash.update(name).update("\0").update(entry.content).update("\0");
  }
  const folder = path.join(FOLDER, `${PREFIX}${hash.digest("hex").slice(0, 12)}`);
  const now = new Date();
  const isThere = await utimes(folder, now, now).then(
    () => true,
    () => false,
  );
  if (!isThere) await writeWhole(folder, tree);
  await forgetUnused();
  return folder;
}

function writeWhole(folder: string, tree: Tree): Promise<void> {
  return withTemporaryFolder({ parent: FOLDER, prefix: `unfinished-${PREFIX}` }, async (temporary) => {
    await chmod(temporary, 0o755);
    for (const [name, entry] of tree) {
      if (entry.kind !== "file") continue;
      await mkdir(path.join(temporary, path.dirname(name)), { recursive: true });
      await writeFile(path.join(temporary, name), entry.content, { mode: entry.mode });
    }
    await rename(temporary, folder).catch((error: NodeJS.ErrnoException) => {
      // Somebody else was first; theirs is the same.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  });
}

async function forgetUnused(): Promise<void> {
  for (const name of await readdir(FOLDER)) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = path.join(FOLDER, name);
    const usedMs = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - usedMs > UNUSED_MS) await rm(folder, { recursive: true, force: true });
  }
}
