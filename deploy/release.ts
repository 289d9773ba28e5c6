/**
 * `npm run release -- --image REGISTRY/NAME@sha256:DIGEST [--replaces VERSION]`: writes what users install, with this image in
 * every pod, to dist/release. The reference names a digest, so that every node runs the image that was released. `--replaces`
 * names the version before it in a catalog of Operator Lifecycle Manager.
 */

import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { generatedFiles, type PackageOptions } from "./generated-files.ts";
import { ImageError } from "./image/image-error.ts";
import { parseReference } from "./image/reference.ts";

const DIST = path.join(import.meta.dirname, "../dist");
const FOLDER = path.join(DIST, "release");

async function main(): Promise<void> {
  const options = { image: { type: "string" }, replaces: { type: "string" } } as const;
  const { image, replaces } = parseArgs({ options }).values;
  if (image === undefined) throw new ImageError("--image is missing: give REGISTRY/NAME@sha256:DIGEST");
  const { digest } = parseReference(image);
  if (digest === undefined) throw new ImageError(`${image} has no digest: give REGISTRY/NAME@sha256:DIGEST`);
  for (const file of await writeRelease(image, { replaces })) console.log(path.relative(process.cwd(), file));
}

/** In place of an older release, whole. */
async function writeRelease(image: string, options: PackageOptions): Promise<string[]> {
  await mkdir(DIST, { recursive: true });
  const temporary = await mkdtemp(`${FOLDER}.`);
  try {
    const names: string[] = [];
    for (const { path: name, text } of generatedFiles(image, options)) {
      const file = path.relative("deploy", name);
      await mkdir(path.join(temporary, path.dirname(file)), { recursive: true });
      await writeFile(path.join(temporary, file), text);
      names.push(path.join(FOLDER, file));
    }
    await rm(FOLDER, { recursive: true, force: true });
    await rename(temporary, FOLDER);
    return names;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  const { code = "", message } = error as NodeJS.ErrnoException;
  console.error(error instanceof ImageError || code.startsWith("ERR_PARSE_ARGS") ? message : error);
  process.exitCode = 1;
});
