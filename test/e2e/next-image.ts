/** Another version of the product's image: the same processes, and CNI executables that differ in their mark. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { machineArch } from "../../cni-plugins/build/toolchain.ts";
import { IMAGE_ROOT, pluginFolder } from "../../src/api/image.ts";
import { formatPluginMark } from "../../src/api/plugin-mark.ts";
import { buildCrane } from "../support/registry.ts";
import type { InstalledProduct } from "./installed-product.ts";

const run = promisify(execFile);
const EXECUTABLES = ["bridge", "tuning"];
const NEXT_VERSION = "99.0.0";

export type PluginSums = Readonly<Record<string, string>>;

/** The file of an executable that belongs to the next version. */
async function nextExecutable(name: string): Promise<Buffer> {
  const content = await readFile(join(await buildPlugins(), name));
  const mark = Buffer.from(formatPluginMark(name));
  if (!content.subarray(-mark.length).equals(mark)) throw new Error(`${name} does not end in its mark`);
  return Buffer.concat([content.subarray(0, -mark.length), Buffer.from(formatPluginMark(name, NEXT_VERSION))]);
}

/** Pushes it beside `image`, a reference by digest. Gives its own reference by digest. */
export async function pushNextImage(image: string): Promise<string> {
  const crane = await buildCrane();
  const folder = await mkdtemp(join(tmpdir(), "next-image-"));
  try {
    const plugins = join(IMAGE_ROOT, pluginFolder(machineArch())).slice(1);
    await mkdir(join(folder, plugins), { recursive: true });
    for (const name of EXECUTABLES) {
      await writeFile(join(folder, plugins, name), await nextExecutable(name), { mode: 0o755 });
    }
    const layer = join(folder, "layer.tar");
    await run("tar", ["--create", `--file=${layer}`, "--owner=0", "--group=0", "-C", folder, plugins]);
    const tag = `${image.slice(0, image.indexOf("@"))}:next`;
    const platform = `--platform=linux/${machineArch()}`;
    await run(crane, ["append", platform, `--base=${image}`, `--new_layer=${layer}`, `--new_tag=${tag}`]);
    return `${image.slice(0, image.indexOf("@"))}@${(await run(crane, ["digest", tag])).stdout.trim()}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Checksums of both versions: file name in the CNI directory -> SHA-256. */
export async function pluginSums(): Promise<{ readonly first: PluginSums; readonly next: PluginSums }> {
  const folder = await buildPlugins();
  const sums = async (content: (name: string) => Promise<Buffer>): Promise<PluginSums> => {
    const entries = EXECUTABLES.map(async (name) => {
      const sum = createHash("sha256")
        .update(await content(name))
        .digest("hex");
      return [
        [name, sum],
        [`cnv-${name}`, sum],
      ] as const;
    });
    return Object.fromEntries((await Promise.all(entries)).flat());
  };
  return { first: await sums((name) => readFile(join(folder, name))), next: await sums(nextExecutable) };
}

/** Checksums of the product's executables on a node; throws while one is missing. */
export async function pluginSumsOn(product: InstalledProduct, node: string, directory: string): Promise<PluginSums> {
  const files = EXECUTABLES.flatMap((name) => [`${directory}/${name}`, `${directory}/cnv-${name}`]);
  const lines = (await product.cluster.mustExec(node, ["sha256sum", ...files])).trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(line.lastIndexOf("/") + 1), line.slice(0, 64)]));
}
