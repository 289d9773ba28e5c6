/** Files from package registries, by the hash that pins them. They are kept in the user's cache directory. */

import { createHash } from "node:crypto";
import { readdir, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { CACHE_ELSEWHERE, cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";
import { ImageError } from "./image-error.ts";

export interface Input {
  /** For messages. */
  readonly name: string;
  readonly hash: { readonly algorithm: "sha256" | "sha512"; readonly hex: string };
  /** Puts the one file into `folder`. Throws an ImageError where it can't be had. */
  readonly download: (folder: string) => Promise<void>;
}

/** The path of the file. Its content is checked each time. */
export async function fetchInput(input: Input, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = path.join(cacheDirectory(env), "image-inputs");
  const kept = path.join(folder, input.hash.hex.slice(0, 64));
  if (await matches(kept, input)) return kept;
  const place = { parent: folder, prefix: "unfinished-", elsewhere: CACHE_ELSEWHERE };
  return withTemporaryFolder(place, async (temporary) => {
    await input.download(temporary);
    const [downloaded = ""] = await readdir(temporary);
    const file = path.join(temporary, downloaded);
    if (!(await matches(file, input))) {
      throw new ImageError(`${input.name} is not the file that deploy/image/pins.json pins: its checksum differs`);
    }
    await rename(file, kept);
    return kept;
  });
}

async function matches(file: string, { hash }: Input): Promise<boolean> {
  const content = await readFile(file).catch(() => undefined);
  return content !== undefined && createHash(hash.algorithm).update(content).digest("hex") === hash.hex;
}
