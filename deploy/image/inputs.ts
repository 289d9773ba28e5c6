/** Files from package registries, by the hash that pins them. They are kept in the user's cache directory. */

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
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
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(path.join(folder, "unfinished-"));
  try {
    await input.download(temporary);
    const [downloaded = ""] = await readdir(temporary);
    const file = path.join(temporary, downloaded);
    if (!(await matches(file, input))) {
      throw new ImageError(`${input.name} is not the file that deploy/image/pins.json pins: its checksum differs`);
    }
    await rename(file, kept);
    return kept;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function matches(file: string, { hash }: Input): Promise<boolean> {
  const content = await readFile(file).catch(() => undefined);
  return content !== undefined && createHash(hash.algorithm).update(content).digest("hex") === hash.hex;
}
