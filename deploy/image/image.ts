/** The product's image for some architectures: two layers each, one that changes with Node or Debian and one of the product. */

import type { Arch } from "../../cni-plugins/build/toolchain.ts";
import {
  CSV_GENERATOR,
  CSV_GENERATOR_BUNDLE,
  entryPoint,
  IMAGE_ENV,
  IMAGE_NODE,
  IMAGE_ROOT,
  NON_ROOT,
} from "../../src/api/image.ts";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { appTree } from "./app-tree.ts";
import { baseTree } from "./base-tree.ts";
import type { DebianOptions } from "./debian.ts";
import { addIndex, addLayer, addManifest, type Blobs, type Descriptor, type RunConfig } from "./oci.ts";
import { readPins } from "./pins.ts";
import { imageSbom, SBOM_PATH } from "./sbom.ts";
import { file, type Tree } from "./tree.ts";

export interface ImageOptions extends DebianOptions {
  readonly archs: readonly Arch[];
  /** Seconds since 1970 that every file and the image carry. */
  readonly timeS: number;
  readonly log: (line: string) => void;
}

export interface Image {
  readonly blobs: Blobs;
  readonly index: Descriptor;
  readonly platforms: readonly Platform[];
}

export interface Platform {
  readonly arch: Arch;
  readonly manifest: Descriptor;
  /** Of its layers, as a registry stores them. */
  readonly compressedBytes: number;
  /** Of the files in them. */
  readonly unpackedBytes: number;
  /** The SPDX document that is in the image too. */
  readonly sbom: string;
}

const RUN: RunConfig = {
  User: `${NON_ROOT}:${NON_ROOT}`,
  WorkingDir: "/",
  Env: ["PATH=/nodejs/bin", ...Object.entries(IMAGE_ENV).map(([name, value]) => `${name}=${value}`)],
  Entrypoint: [IMAGE_NODE],
  Cmd: [`${IMAGE_ROOT}/${entryPoint("operator")}`],
  Labels: {
    "org.opencontainers.image.title": "cluster-network-addons",
    "org.opencontainers.image.version": PRODUCT_VERSION,
    "org.opencontainers.image.licenses": "Apache-2.0",
  },
};

/** Programs with a path of their own. The kernel starts Node with them: there is no shell. */
const PROGRAMS: Tree = new Map([
  [CSV_GENERATOR.slice(1), file(`#!${IMAGE_NODE}\nimport("${IMAGE_ROOT}/${CSV_GENERATOR_BUNDLE}");\n`, 0o755)],
]);

export async function buildImage(options: ImageOptions): Promise<Image> {
  const blobs: Blobs = new Map();
  const platforms: Platform[] = [];
  for (const arch of options.archs) platforms.push(await buildPlatform(blobs, arch, options));
  return {
    blobs,
    index: addIndex(
      blobs,
      platforms.map(({ manifest }) => manifest),
    ),
    platforms,
  };
}

async function buildPlatform(blobs: Blobs, arch: Arch, options: ImageOptions): Promise<Platform> {
  const { timeS, log } = options;
  const pins = await readPins();
  const base = await baseTree(pins, arch, options);
  const { tree, sources } = await appTree(arch, log);
  const sbom = await imageSbom({ arch, pins, sources, timeS });
  const product = new Map([...below(IMAGE_ROOT, tree), ...PROGRAMS, [SBOM_PATH, file(sbom)]]);
  const layers = [
    await addLayer(blobs, base, timeS, "Node and its libraries"),
    await addLayer(blobs, product, timeS, "cluster network addons"),
  ];
  const total = (bytes: readonly number[]): number => bytes.reduce((sum, one) => sum + one, 0);
  return {
    arch,
    manifest: addManifest(blobs, arch, layers, RUN, timeS),
    compressedBytes: total(layers.map(({ descriptor }) => descriptor.size)),
    unpackedBytes: total(layers.map((layer) => layer.unpackedBytes)),
    sbom,
  };
}

function below(folder: string, tree: Tree): Tree {
  return new Map([...tree].map(([name, entry]) => [`${folder.slice(1)}/${name}`, entry]));
}
