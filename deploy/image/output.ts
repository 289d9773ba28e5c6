/** What a build leaves for its user: the OCI archive, and an SPDX document for each architecture. */

import { rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";
import { DEFAULT_IMAGE } from "../../src/api/image.ts";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import type { Image } from "./image.ts";
import { ociArchive } from "./oci.ts";

/** Gives their paths. All of them are written, or none. */
export async function writeImageFiles(
  { blobs, index, platforms }: Image,
  folder: string,
  timeS: number,
): Promise<string[]> {
  const stem = `cluster-network-addons-${PRODUCT_VERSION}`;
  const files = new Map<string, Buffer | string>([
    [`${stem}.oci.tar`, ociArchive(blobs, index, DEFAULT_IMAGE, timeS)],
    ...platforms.map(({ arch, sbom }) => [`${stem}-${arch}.spdx.json`, sbom] as const),
  ]);
  await withTemporaryFolder({ parent: folder, prefix: "unfinished-", elsewhere: "--output" }, async (temporary) => {
    for (const [name, content] of files) await writeFile(path.join(temporary, name), content);
    for (const name of files.keys()) await rename(path.join(temporary, name), path.join(folder, name));
  });
  return [...files.keys()].map((name) => path.join(folder, name));
}
