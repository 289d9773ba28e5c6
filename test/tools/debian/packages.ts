/**
 * Packages of Debian or Ubuntu, unpacked beside each other in the cache and never installed. The first call of a process
 * that downloads something reads the package lists.
 */

import { execFile } from "node:child_process";
import { existsSync, lstatSync } from "node:fs";
import { readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../../cni-plugins/build/temporary-folder.ts";
import { DebianIndex } from "./index.ts";

const run = promisify(execFile);

/**
 * The folder in which the packages are unpacked, with what they depend on and the machine lacks; undefined where they
 * can't be had. A package may be named with its release: `NAME/bookworm`.
 */
export function unpackDebian(packages: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return unpackOnce(`debian-${packages.join("-").replaceAll("/", "-")}`, env, async (directory) => {
    await (await DebianIndex.ofMachine(directory)).downloadComplete(packages, directory);
  });
}

/** The same for packages that `download` puts into the directory it is given. The cache keeps them under `name`. */
export async function unpackOnce(
  name: string,
  env: NodeJS.ProcessEnv,
  download: (directory: string) => Promise<void>,
): Promise<string | undefined> {
  const directory = path.join(cacheDirectory(env), name);
  if (existsSync(directory)) return directory;
  const place = { parent: path.dirname(directory), prefix: `unfinished-${name}-` };
  try {
    await withTemporaryFolder(place, async (temporary) => {
      await download(temporary);
      const packages = (await readdir(temporary)).filter((file) => file.endsWith(".deb"));
      const root = path.join(temporary, "root");
      for (const file of packages) await run("dpkg", ["-x", path.join(temporary, file), root]);
      await mendLinks(root);
      // Somebody else may have been faster; theirs is the same.
      await rename(root, directory).catch((error: unknown) => {
        if (!existsSync(directory)) throw error;
      });
    });
    return directory;
  } catch {
    return undefined;
  }
}

/** Links that would lead somewhere if the packages were installed lead there: into the folder, else to the machine's file. */
async function mendLinks(root: string): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const link = path.join(entry.parentPath, entry.name);
    const target = await readlink(link);
    const installed = path.resolve("/", path.relative(root, entry.parentPath), target);
    const unpacked = path.join(root, installed);
    const isUnpacked = lstatSync(unpacked, { throwIfNoEntry: false }) !== undefined;
    if (isUnpacked ? !path.isAbsolute(target) : !existsSync(installed)) continue;
    await rm(link);
    await symlink(isUnpacked ? path.relative(entry.parentPath, unpacked) : installed, link);
  }
}
