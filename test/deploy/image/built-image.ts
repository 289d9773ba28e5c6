/** The image as `npm run build:image` makes it, for tests, and its file system unpacked as a runtime would. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Arch } from "../../../cni-plugins/build/toolchain.ts";
import { PRODUCT_VERSION } from "../../../src/api/names.ts";

const run = promisify(execFile);
const root = path.join(import.meta.dirname, "../../..");
export const BUILDER = path.join(root, "deploy/image/build.ts");
/** What the builder says where this machine can't have an input or a tool: no test can change that. */
const NOT_HERE = /^(apt|npm|dpkg-deb|tar) |Debian mirror|can't be built for/m;

/** The tests' images are of 2023-11-14T22:13:20Z. */
export const TIME = { SOURCE_DATE_EPOCH: "1700000000" };

/** For each architecture: what a node downloads, and what it then holds. Node is 46 MB and 127 MB of it. */
export const SIZE_BUDGET = { compressedBytes: 55e6, unpackedBytes: 150e6 };

export interface Summary {
  readonly digest: string;
  readonly archs: readonly Arch[];
  readonly compressedBytes: number;
  readonly unpackedBytes: number;
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `folder`: where the archive and the SBOM go. */
export async function build(folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const options = { env: { ...process.env, ...env }, cwd: root };
  try {
    return { code: 0, ...(await run(process.execPath, [BUILDER, "--output", folder, ...args], options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as Ended;
    return { code, stdout, stderr };
  }
}

export const summaryOf = ({ stdout }: Ended): Summary => JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Summary;

/** The summary, or why this machine can't build an image. Any other failure is thrown. */
export async function buildOrReason(
  folder: string,
  arch: Arch,
): Promise<{ readonly summary?: Summary; readonly reason?: string }> {
  const ended = await build(folder, ["--arch", arch], TIME);
  if (ended.code === 0) return { summary: summaryOf(ended) };
  if (!NOT_HERE.test(ended.stderr)) throw new Error(ended.stderr);
  console.error(ended.stderr.trim());
  return { reason: ended.stderr };
}

export const builtFile = (folder: string, suffix: string): string =>
  path.join(folder, `cluster-network-addons-${PRODUCT_VERSION}${suffix}`);

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
}

export interface Unpacked extends AsyncDisposable {
  /** The root of the image's file system. */
  readonly root: string;
  readonly config: {
    readonly architecture: string;
    readonly created: string;
    readonly config: { readonly User: string; readonly Entrypoint: readonly string[]; readonly Env: readonly string[] };
  };
}

/** Takes the archive in `from` apart with tar and JSON alone. */
export async function unpack(from: string, digest: string, arch: Arch): Promise<Unpacked> {
  const folder = await mkdtemp(path.join(tmpdir(), "unpacked-image-"));
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await run("tar", ["-xf", builtFile(from, ".oci.tar"), "-C", folder]);
    const blob = (one: string): string => path.join(folder, "blobs", one.replace(":", "/"));
    const json = async (one: string) => JSON.parse(await readFile(blob(one), "utf8"));
    const index = (await json(digest)) as { manifests: Descriptor[] };
    const platform = index.manifests.find((one) => one.platform?.architecture === arch);
    const manifest = (await json(platform?.digest ?? "")) as { config: Descriptor; layers: Descriptor[] };
    const tree = path.join(folder, "root");
    await mkdir(tree);
    for (const layer of manifest.layers) await run("tar", ["-xzpf", blob(layer.digest), "-C", tree]);
    return { root: tree, config: await json(manifest.config.digest), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
