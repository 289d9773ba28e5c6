/** TypeScript of the plugins to the JavaScript that the crate `native/` makes bytecode of, by esbuild. */

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { build, type Plugin } from "esbuild";
import { versionAnswer } from "../cni/version.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";

export const PLUGINS = ["bridge", "tuning", "link-monitor"] as const;
export type PluginName = (typeof PLUGINS)[number];

const ROOT = path.resolve(import.meta.dirname, "../..");
const BUNDLES = path.join(ROOT, "cni-plugins/native/target/bundles");

/** The plugin's JavaScript. */
export async function bundlePlugin(plugin: PluginName): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [`cni-plugins/${plugin}/main.ts`],
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    minify: true,
    legalComments: "none",
    logLevel: "silent",
    plugins: [withoutSideEffects],
    write: false,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${plugin}`);
  return file.text;
}

/** One file for each plugin, and their answer to VERSION. A file that is as it was keeps its time: cargo has nothing to do. */
export async function writeBundles(): Promise<void> {
  await withTemporaryFolder({ parent: path.dirname(BUNDLES), prefix: "unfinished-bundles-" }, async (temporary) => {
    await mkdir(BUNDLES, { recursive: true });
    const files = PLUGINS.map(async (plugin) => [`${plugin}.js`, await bundlePlugin(plugin)] as const);
    for (const [name, text] of [["version.json", versionAnswer()] as const, ...(await Promise.all(files))]) {
      const file = path.join(BUNDLES, name);
      if ((await readFile(file, "utf8").catch(() => undefined)) === text) continue;
      await writeFile(path.join(temporary, name), text);
      await rename(path.join(temporary, name), file);
    }
  });
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
