/**
 * `npm run build:image [-- --arch amd64,arm64] [--output FOLDER] [--push REGISTRY/NAME:TAG]
 * [--debian-mirror URL] [--renew-pins]`: writes the product's image as an OCI archive, and an SPDX document for each
 * architecture, to dist/image or FOLDER. No registry, daemon or root is needed. `--push` sends the image to a registry too, with the login of docker's config.json.
 *
 * The last line on stdout is JSON: the digest of the image's index, its architectures and sizes. The same source gives the
 * same bytes; SOURCE_DATE_EPOCH sets the time that the image and its files carry, 1970 without it.
 */

import path from "node:path";
import { readFlags } from "../../cni-plugins/build/flags.ts";
import { cleanUpOnSignals } from "../../cni-plugins/build/temporary-folder.ts";
import { type Arch, BuildError, machineArch } from "../../cni-plugins/build/toolchain.ts";
import { newestPackages } from "./debian.ts";
import { buildImage, type Image } from "./image.ts";
import { ImageError } from "./image-error.ts";
import { newestNode } from "./node-runtime.ts";
import { writeImageFiles } from "./output.ts";
import { nodeVersion, readPinsToRenew, writePins } from "./pins.ts";
import { pushImage, pushTarget } from "./push.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const ARCHS: readonly Arch[] = ["amd64", "arm64"];

async function main(): Promise<void> {
  const options = {
    arch: { type: "string", default: machineArch() },
    output: { type: "string", default: path.join(ROOT, "dist/image") },
    push: { type: "string" },
    "debian-mirror": { type: "string" },
    "renew-pins": { type: "boolean", default: false },
  } as const;
  const values = readFlags(options);
  const mirror = debianMirror(values["debian-mirror"]);
  const log = (line: string): void => console.error(line);
  if (values["renew-pins"]) return renewPins(mirror, log);
  if (values.push !== undefined) pushTarget(values.push);
  const timeS = readEpoch(process.env.SOURCE_DATE_EPOCH);
  const image = await buildImage({ archs: readArchs(values.arch), timeS, mirror, env: process.env, log });
  for (const file of await writeImageFiles(image, values.output, timeS)) log(path.relative(process.cwd(), file));
  if (values.push !== undefined) log(`pushed ${await pushImage(image, values.push, process.env, log)}`);
  console.log(JSON.stringify(summary(image)));
}

function readArchs(text: string): readonly Arch[] {
  const archs = text.split(",");
  const unknown = archs.filter((arch) => !ARCHS.some((one) => one === arch));
  if (unknown.length > 0) throw new ImageError(`--arch takes amd64, arm64 or both with a comma, found ${text}`);
  return ARCHS.filter((arch) => archs.includes(arch));
}

/** What apt takes for the address of a repository: a scheme, and no white space, which would end its line. */
function debianMirror(url: string | undefined): string | undefined {
  if (url === undefined || /^[a-z][a-z+]*:\/+[^\s/]\S*$/.test(url)) return url;
  throw new ImageError(
    `--debian-mirror ${JSON.stringify(url)} is no mirror: give a URL such as https://mirror.example/debian`,
  );
}

function readEpoch(text: string | undefined): number {
  if (text === undefined || text === "") return 0;
  if (!/^\d{1,10}$/.test(text)) throw new ImageError(`SOURCE_DATE_EPOCH must be seconds since 1970, found ${text}`);
  return Number(text);
}

function summary({ index, platforms }: Image) {
  const sum = (one: "compressedBytes" | "unpackedBytes"): number =>
    platforms.reduce((total, platform) => total + platform[one], 0);
  return {
    digest: index.digest,
    archs: platforms.map(({ arch }) => arch),
    compressedBytes: sum("compressedBytes"),
    unpackedBytes: sum("unpackedBytes"),
  };
}

async function renewPins(mirror: string | undefined, log: (line: string) => void): Promise<void> {
  const pins = await readPinsToRenew();
  const renewed = { node: await newestNode(await nodeVersion()), debian: await newestPackages(pins.debian, mirror) };
  await writePins(renewed);
  log(`Node ${renewed.node.version}`);
  for (const { name, version } of renewed.debian.packages) log(`${name} ${version}`);
}

cleanUpOnSignals();
await main().catch((error: unknown) => {
  console.error(error instanceof ImageError || error instanceof BuildError ? error.message : error);
  process.exitCode = 1;
});
