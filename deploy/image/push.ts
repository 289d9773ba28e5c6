/** An image to a registry: blobs first, what names them after, so that a push that ends early leaves no broken image. */

import type { Image } from "./image.ts";
import { ImageError } from "./image-error.ts";
import { type Index, type Manifest, MEDIA_TYPES } from "./oci.ts";
import { parseReference } from "./reference.ts";
import { Repository } from "./registry-client.ts";
import { registryCredentials } from "./registry-credentials.ts";

/** Throws an ImageError for a reference that can't be pushed to; nothing is sent. */
export function pushTarget(text: string) {
  const { registry, repository, tag, digest } = parseReference(text);
  if (tag === undefined || digest !== undefined) throw new ImageError(`--push takes REGISTRY/NAME:TAG, found ${text}`);
  return { registry, repository, tag };
}

/** The reference by digest. */
export async function pushImage(
  { blobs, index }: Pick<Image, "blobs" | "index">,
  target: string,
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<string> {
  const { registry, repository, tag } = pushTarget(target);
  const credentials = await registryCredentials(registry, env);
  const remote = new Repository({ registry, repository, credentials });
  const content = (digest: string): Buffer => {
    const found = blobs.get(digest);
    if (found === undefined) throw new Error(`the image has no ${digest}`);
    return found;
  };
  const parse = <T>(digest: string): T => JSON.parse(content(digest).toString()) as T;
  for (const manifest of parse<Index>(index.digest).manifests) {
    const { config, layers } = parse<Manifest>(manifest.digest);
    for (const { digest, size } of [...layers, config]) {
      log(`pushing ${digest} (${(size / 1e6).toFixed(1)} MB)`);
      await remote.putBlob(digest, content(digest));
    }
    await remote.putManifest(manifest.digest, manifest, content(manifest.digest));
  }
  await remote.putManifest(tag, { ...index, mediaType: MEDIA_TYPES.index }, content(index.digest));
  return `${registry}/${repository}@${index.digest}`;
}
