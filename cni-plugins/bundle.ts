/** TypeScript of the plugins to the JavaScript modules that the crate `host/` makes bytecode of. */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { build, type Plugin } from "esbuild";
import { PRODUCT_VERSION } from "../src/api/names.ts";
import { PART_FILES as BRIDGE_PARTS } from "./bridge/parts.ts";
import { replaceFile } from "./replace-file.ts";

export const PLUGINS = ["bridge", "tuning", "link-monitor"] as const;
export type PluginName = (typeof PLUGINS)[number];

const ROOT = path.resolve(import.meta.dirname, "..");
const BUNDLES = path.join(ROOT, "cni-plugins/host/target/bundles");

/** The modules of a plugin: `main.js`, its parts, and chunks that these share. */
export function bundlePlugin(plugin: PluginName) {
  return build({
    entryPoints: entryPoints(plugin),
    absWorkingDir: ROOT,
    outdir: path.join(BUNDLES, plugin),
    bundle: true,
    splitting: true,
    chunkNames: "shared-[hash]",
    format: "esm",
    platform: "neutral",
    target: "es2023",
    minify: true,
    legalComments: "none",
    define: { PRODUCT_VERSION: JSON.stringify(PRODUCT_VERSION) },
    write: false,
    metafile: true,
    logLevel: "silent",
    plugins: [withoutSideEffects],
  });
}

/** One folder for each plugin. A file that is as it was keeps its time, so that cargo has nothing to do. */
export async function writeBundles(): Promise<void> {
  for (const plugin of PLUGINS) {
    const folder = path.join(BUNDLES, plugin);
    const { outputFiles } = await bundlePlugin(plugin);
    await mkdir(folder, { recursive: true });
    const names = outputFiles.map((file) => path.basename(file.path));
    for (const stale of await readdir(folder)) {
      if (!names.includes(stale)) await rm(path.join(folder, stale), { recursive: true });
    }
    for (const { path: file, text } of outputFiles) {
      if ((await readFile(file, "utf8").catch(() => undefined)) === text) continue;
      await replaceFile(file, (temporary) => writeFile(temporary, text));
    }
  }
}

/** Importing one of our modules does nothing, so a module that is imported for its types is not loaded. */
const withoutSideEffects: Plugin = {
  name: "without-side-effects",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path: file, resolveDir }) => ({
      path: path.join(resolveDir, file),
      sideEffects: false,
    }));
  },
};

/** By the name that the host loads them by. */
function entryPoints(plugin: PluginName): Record<string, string> {
  const folder = path.join(ROOT, "cni-plugins", plugin);
  const parts = plugin === "bridge" ? BRIDGE_PARTS : {};
  const files = Object.entries({ main: "./main.ts", ...parts });
  return Object.fromEntries(files.map(([name, file]) => [name, path.join(folder, file)]));
}
