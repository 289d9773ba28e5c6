/** Programs out of Debian packages, unpacked beside each other and never installed. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";

const run = promisify(execFile);

/** Those of the release that the plugins of version 1.1.1 are in. */
const ARCHIVE = "bookworm";

/** The folder in which the packages are unpacked; undefined where they can't be had. Cached outside the tree. */
export function unpackDebian(packages: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const wanted = packages.map((name) => `${name}/${ARCHIVE}`);
  return unpackOnce(`debian-${ARCHIVE}-${packages.join("-")}`, env, async (directory) => {
    await run("apt-get", ["download", ...wanted], { cwd: directory, env });
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
