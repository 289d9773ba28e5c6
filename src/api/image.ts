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

/**
 * For every process. Node's snapshot of its own modules is shared by nobody and 0.7 MB larger than what a process loads of them; a
 * start without it takes 50 ms more of CPU time.
 */
const SMALL = "--no-node-snapshot";

/**
 * For a process that is idle most of the time: docs/decisions/013. A larger young generation would hold 20 to 30 MB more,
 * compilers and their threads 4 MB, a heap that grows as it likes 1 MB, three more idle threads 0.2 MB. What ran at the start alone is forgotten with the first
 * collection instead of the sixth: 1.7 MB.
 */
export const IDLE_NODE_FLAGS: readonly string[] = [
  SMALL,
  "--max-semi-space-size=1",
  "--jitless",
  "--single-threaded",
  "--v8-pool-size=1",
  "--optimize-for-size",
  "--heap-growing-percent=10",
  "--bytecode-old-age=1",
  "--compact-on-every-full-gc",
];

/**
 * For the operator and the webhook of linuxBridge. Work comes in bursts, and what they leave has to go soon. Otherwise the heap
 * grows to three times what is alive. Without compilers of JavaScript they hold 1 to 2 MB less, and an admission takes a tenth more
 * CPU time. Four threads that collect garbage hold 0.5 MB more than one.
 */
export const BURST_NODE_FLAGS: readonly string[] = [
  SMALL,
  "--max-semi-space-size=1",
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  "--heap-growing-percent=10",
  "--optimize-for-size",
  "--bytecode-old-age=1",
  "--v8-pool-size=1",
];

/**
 * For the MAC pool. The heap stays small: with 100,000 claims 254 to 289 MB are resident. Two flags took 544 MB to 290 at the time,
 * and an admission takes as long with them.
 * In a young generation of 8 MB the sockets of a flood of connections die; with 2 MB (11 MB less in all) they did not.
 * `--optimize-for-size` would save a little more and lengthen an admission by half. One thread collects garbage beside the
 * main one: where the cores are busy, four hold the main one up, and the slowest admissions of a burst take half as long again.
 */
export const MANAGER_NODE_FLAGS: readonly string[] = [
  SMALL,
  "--max-semi-space-size=8",
  "--heap-growing-percent=20",
  "--v8-pool-size=1",
];

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
