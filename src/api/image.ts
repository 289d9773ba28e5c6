/** The product's image: its name, and the places in it that pods and the builder agree on. Part of the contract (`src/api`). */

import { PRODUCT_VERSION } from "./names.ts";

/**
 * Where the product's image is published, without a tag: the one place that names a registry. Nobody can register a host
 * under `.invalid` (RFC 2606), so until the owner of a build sets a registry of their own, nodes pull nothing from anybody.
 */
export const IMAGE_REPOSITORY = "registry.invalid/cluster-network-addons";

/** The one image every process of the product runs from. */
export const DEFAULT_IMAGE = `${IMAGE_REPOSITORY}:${PRODUCT_VERSION}`;

/** Where Node and the product are inside the image. */
export const IMAGE_NODE = "/nodejs/bin/node";
export const IMAGE_ROOT = "/app";

/**
 * Environment of every process in the image. With a fixed trim threshold glibc gives freed memory back; without one it raises
 * the threshold after the first large block, up to 32 MB, and keeps what V8's parser and compiler needed at the start. One
 * arena is enough: Node's threads allocate little.
 */
export const IMAGE_ENV: Readonly<Record<string, string>> = {
  NODE_ENV: "production",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_ARENA_MAX: "1",
};

/** The user of the image, and so of every pod that does not need root, unless the platform gives its namespace other users. */
export const NON_ROOT = 65532;

/** Folders of `src` whose `main.ts` is a process in the image. */
export const IMAGE_PROCESSES = [
  "operator",
  "mac-pool",
  "certs",
  "linux-bridge-webhook",
  "linux-bridge",
  "bridge-marker",
  "multus-sidecar",
] as const;
export type ImageProcess = (typeof IMAGE_PROCESSES)[number];

/** The bundle of a process, relative to the image's root. */
export const entryPoint = (process: ImageProcess): string => `src/${process}/main.js`;

/** Where builds of the HyperConverged operator start the generator of the operator's ClusterServiceVersion. */
export const CSV_GENERATOR = "/usr/bin/csv-generator";

/** Its bundle, relative to the image's root. */
export const CSV_GENERATOR_BUNDLE = "src/operator/olm/main.js";

/** The folder of the CNI executables, relative to the image's root. */
export const pluginFolder = (arch: string): string => `dist/cni/${arch}`;

/** The folder of the inspection page, relative to the image's root. */
export const PAGE_FOLDER = "dist/page";
