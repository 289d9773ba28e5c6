/**
 * `npm run release -- --image REGISTRY/NAME@sha256:DIGEST [--replaces VERSION] [--download URL]`: writes what users install, with this image in
 * every pod, to dist/release. The reference names a digest, so that every node runs the image that was released. `--replaces`
 * names the version before it in a catalog of Operator Lifecycle Manager. `--download` is the URL of the folder that the
 * archive of `kubectl macpool` will be in, for krew's manifest.
 */

import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { generatedFiles, type PackageOptions } from "./generated-files.ts";
import { ImageError } from "./image/image-error.ts";
import { parseReference } from "./image/reference.ts";
import { cliPackage } from "./krew/cli-package.ts";
import { NO_DOWNLOAD } from "./krew/manifest.ts";

const DIST = path.join(import.meta.dirname, "../dist");
const FOLDER = path.join(DIST, "release");

async function main(): Promise<void> {
  const options = { image: { type: "string" }, replaces: { type: "string" }, download: { type: "string" } } as const;
  const { image, replaces, download = NO_DOWNLOAD } = parseArgs({ options }).values;
  if (image === undefined) throw new ImageError("--image is missing: give REGISTRY/NAME@sha256:DIGEST");
  const { digest } = parseReference(image);
  if (digest === undefined) throw new ImageError(`${image} has no digest: give REGISTRY/NAME@sha256:DIGEST`);
  if (!/^https:\/\/[^/]/.test(download))
    throw new ImageError(`--download ${download} is not a URL: write https://HOST/PATH`);
  for (const file of await writeRelease(image, { replaces, download })) console.log(path.relative(process.cwd(), file));
}

/** In place of an older release, whole. */
async function writeRelease(image: string, options: PackageOptions & { readonly download: string }): Promise<string[]> {
  await mkdir(DIST, { recursive: true });
  const temporary = await mkdtemp(`${FOLDER}.`);
  try {
    const names: string[] = [];
    const generated = generatedFiles(image, options).map(({ path: name, text }) => ({
      path: path.relative("deploy", name),
      content: text,
    }));
    for (const { path: file, content } of [...generated, ...(await cliPackage(options.download.replace(/\/+$/, "")))]) {
      await mkdir(path.join(temporary, path.dirname(file)), { recursive: true });
      await writeFile(path.join(temporary, file), content);
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
