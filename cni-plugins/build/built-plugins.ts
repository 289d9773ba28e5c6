/**
 * Executables that were built before, by their inputs: a folder for each under the user's cache directory, so that a fresh
 * clone of the same source has nothing to build. The oldest go when there are many.
 */

import { cp, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { withTemporaryFolder } from "./temporary-folder.ts";

const KEPT = 10;
const PREFIX = "cni-plugins-";

/** What names another cache directory. */
export const CACHE_ELSEWHERE = "XDG_CACHE_HOME";

/** Where what takes long to build is kept between clones. */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
  return path.join(env.XDG_CACHE_HOME || path.join(env.HOME || homedir(), ".cache"), "cluster-network-addons");
}

export class BuiltPlugins {
  readonly #root: string;

  constructor(env: NodeJS.ProcessEnv) {
    this.#root = cacheDirectory(env);
  }

  /** The folder of the executables; undefined when these inputs were never built. */
  async find(arch: string, inputs: string): Promise<string | undefined> {
    const folder = this.#folder(arch, inputs);
    try {
      const now = new Date();
      await utimes(folder, now, now);
      return folder;
    } catch {
      return undefined;
    }
  }

  /** Copies the folder of the executables. Whole or not at all, also when others do the same. */
  async keep(arch: string, inputs: string, directory: string): Promise<void> {
    const place = { parent: this.#root, prefix: "unfinished-cni-plugins-", elsewhere: CACHE_ELSEWHERE };
    await withTemporaryFolder(place, async (temporary) => {
      await cp(directory, temporary, { recursive: true });
      await rename(temporary, this.#folder(arch, inputs)).catch(ignoreTaken);
    });
    await this.#forgetOldest();
  }

  #folder(arch: string, inputs: string): string {
    return path.join(this.#root, `${PREFIX}${arch}-${inputs.slice(0, 16)}`);
  }

  async #forgetOldest(): Promise<void> {
    const names = (await readdir(this.#root)).filter((name) => name.startsWith(PREFIX));
    const folders = await Promise.all(
      names.map(async (name) => {
        const folder = path.join(this.#root, name);
        return { folder, usedMs: (await stat(folder)).mtimeMs };
      }),
    );
    const oldest = folders.sort((one, other) => other.usedMs - one.usedMs).slice(KEPT);
    for (const { folder } of oldest) await rm(folder, { recursive: true, force: true });
  }
}

/** Somebody else was first. */
function ignoreTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}
