/**
 * `npm run release -- --image REGISTRY/NAME@sha256:DIGEST [--load] [--mirror PREFIX] [--replaces VERSION] [--download URL]`:
 * writes what users install, with this image in every pod, to dist/release. The reference names a digest, so that every node
 * runs the image that was released. `--load`: somebody has loaded the image into the nodes. Then it has a tag, and without
 * `--image` the name in the built archive. `--mirror` goes before the names of other projects' images. `--replaces` names the
 * version before it in a catalog of Operator Lifecycle Manager. `--download` is the URL of the folder that the archive of
 * `kubectl macpool` will be in, for krew's manifest.
 */

import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { readFlags } from "../cni-plugins/build/flags.ts";
import { BuildError } from "../cni-plugins/build/toolchain.ts";
import { DEFAULT_IMAGE } from "../src/api/image.ts";
import { PRODUCT_VERSION } from "../src/api/names.ts";
import { IMAGE_MIRROR_PATTERN, IMAGE_MIRROR_TEXT } from "../src/operator/config/component-images.ts";
import { isVersion } from "../src/operator/olm/flags.ts";
import { type PackageOptions, releaseFiles } from "./generated-files.ts";
import { ImageError } from "./image/image-error.ts";
import { parseReference } from "./image/reference.ts";
import { cliPackage } from "./krew/cli-package.ts";
import { NO_DOWNLOAD } from "./krew/manifest.ts";

const FOLDER = path.join(import.meta.dirname, "../dist/release");

async function main(): Promise<void> {
  const options = {
    image: { type: "string" },
    load: { type: "boolean", default: false },
    mirror: { type: "string" },
    replaces: { type: "string" },
    download: { type: "string" },
  } as const;
  const { load, mirror, replaces, download = NO_DOWNLOAD, ...values } = readFlags(options);
  if (mirror !== undefined && !new RegExp(IMAGE_MIRROR_PATTERN).test(mirror))
    throw new ImageError(`--mirror ${mirror} is none: ${IMAGE_MIRROR_TEXT}`);
  const image = load ? loadedImage(values.image) : pulledImage(values.image);
  if (!/^https:\/\/[^/\s"'`$<>\\][^\s"'`$<>\\]*$/.test(download))
    throw new ImageError(`--download ${download} is not a URL: write https://HOST/PATH`);
  const written = await writeRelease(FOLDER, image, { mirror, replaces: replacedVersion(replaces), download });
  for (const file of written) console.log(path.relative(process.cwd(), file));
}

/** Throws ImageError where nodes might run different images. */
export function pulledImage(image: string | undefined): string {
  const loaded = "--load if the nodes have the image already";
  if (image === undefined) throw new ImageError(`--image is missing: give REGISTRY/NAME@sha256:DIGEST, or ${loaded}`);
  if (parseReference(image).digest !== undefined) return image;
  throw new ImageError(`${image} has no digest: give REGISTRY/NAME@sha256:DIGEST, or add ${loaded}`);
}

/** Of `--load`. A runtime finds what was loaded by its tag. Throws ImageError without one. */
export function loadedImage(image = DEFAULT_IMAGE): string {
  const { tag, digest } = parseReference(image);
  if (tag !== undefined && digest === undefined) return image;
  throw new ImageError(`${image} is no name for --load: give REGISTRY/NAME:TAG`);
}

/** Of `--replaces`. Throws ImageError for what no ClusterServiceVersion of the product can be called. */
export function replacedVersion(version: string | undefined): string | undefined {
  if (version === PRODUCT_VERSION) throw new ImageError(`--replaces ${version} is the version of this release`);
  if (version === undefined || isVersion(version)) return version;
  throw new ImageError(`--replaces ${version} is no version: give MAJOR.MINOR.PATCH, such as 0.9.1`);
}

/** Writes `folder` in place of an older release, whole; resolves with its files. */
export async function writeRelease(
  folder: string,
  image: string,
  { download = NO_DOWNLOAD, ...options }: PackageOptions & { readonly download?: string } = {},
): Promise<string[]> {
  await mkdir(path.dirname(folder), { recursive: true });
  const temporary = await mkdtemp(`${folder}.`);
  try {
    const names: string[] = [];
    const generated = releaseFiles(image, options).map(({ path: file, text }) => ({ path: file, content: text }));
    for (const { path: file, content } of [...generated, ...(await cliPackage(download.replace(/\/+$/, "")))]) {
      await mkdir(path.join(temporary, path.dirname(file)), { recursive: true });
      await writeFile(path.join(temporary, file), content);
      names.push(path.join(folder, file));
    }
    await chmod(temporary, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(temporary, folder);
    return names;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(error instanceof ImageError || error instanceof BuildError ? error.message : error);
    process.exitCode = 1;
  });
}
