/** Writes a directory as an image of one layer: an OCI archive that `ctr images import` reads. */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mustRun } from "../../cluster/command.ts";

export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly User?: string;
  readonly Env?: readonly string[];
}

/** The same files give the same bytes. */
const TAR = [
  "tar",
  "--create",
  "--sort=name",
  "--mtime=@0",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--format=ustar",
];
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const MEDIA = "application/vnd.oci.image";

/** `scratch` is an empty directory of the caller's. */
export async function writeOciArchive(
  image: { readonly name: string; readonly root: string; readonly config: ImageConfig },
  scratch: string,
  file: string,
): Promise<void> {
  const layout = join(scratch, "layout");
  const blobs = join(layout, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const layerFile = join(scratch, "layer.tar");
  await mustRun([...TAR, `--file=${layerFile}`, `--directory=${image.root}`, "."]);
  const layer = await readFile(layerFile);
  await rename(layerFile, join(blobs, sha256(layer)));

  const blob = async (mediaType: string, content: object): Promise<object> => {
    const text = JSON.stringify(content);
    await writeFile(join(blobs, sha256(text)), text);
    return { mediaType, digest: `sha256:${sha256(text)}`, size: text.length };
  };
  const config = await blob(`${MEDIA}.config.v1+json`, {
    architecture: ARCHITECTURES[process.arch],
    os: "linux",
    config: image.config,
    rootfs: { type: "layers", diff_ids: [`sha256:${sha256(layer)}`] },
  });
  const layers = [{ mediaType: `${MEDIA}.layer.v1.tar`, digest: `sha256:${sha256(layer)}`, size: layer.length }];
  const manifest = await blob(`${MEDIA}.manifest.v1+json`, {
    ...{ schemaVersion: 2, mediaType: `${MEDIA}.manifest.v1+json`, config, layers },
  });
  const annotations = { "io.containerd.image.name": image.name };
  const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations }] };
  await writeFile(join(layout, "index.json"), JSON.stringify(index));
  await writeFile(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await mustRun([...TAR, `--file=${file}`, `--directory=${layout}`, "."]);
}

const sha256 = (data: Buffer | string): string => createHash("sha256").update(data).digest("hex");
