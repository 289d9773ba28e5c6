/** TypeScript of the plugins to the JavaScript modules that the crate `native/` makes bytecode of, by esbuild. */

import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { build, type Plugin } from "esbuild";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";

export const PLUGINS = ["bridge", "tuning", "link-monitor"] as const;
export type PluginName = (typeof PLUGINS)[number];

/**
 * The parts of a plugin's bytecode: files of its folder, as far as it has them. `main` is run by every call, and loads the
 * others when it needs them: reading bytecode is most of what a short call costs. What parts have in common esbuild puts
 * into modules that they import.
 */
const PARTS = ["main", "call", "more"];

const ROOT = path.resolve(import.meta.dirname, "../..");
const BUNDLES = path.join(ROOT, "cni-plugins/native/target/bundles");

export interface Module {
  /** A part's name or esbuild's own, and `.js`. */
  readonly name: string;
  readonly text: string;
  /** The source files that it has code of, as paths from the root. Constants are inlined: their files are nowhere. */
  readonly sources: readonly string[];
  /** The modules that it imports. */
  readonly imports: readonly string[];
}

export async function bundlePlugin(plugin: PluginName): Promise<readonly Module[]> {
  const files = PARTS.map((part) => path.join(ROOT, "cni-plugins", plugin, `${part}.ts`));
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: files.filter((file) => existsSync(file)),
    outdir: path.join(BUNDLES, plugin),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    minify: true,
    legalComments: "none",
    define: { PRODUCT_VERSION: JSON.stringify(PRODUCT_VERSION) },
    logLevel: "silent",
    plugins: [withoutSideEffects],
    write: false,
    metafile: true,
  });
  return outputFiles.map(({ path: file, text }) => {
    const { inputs = {}, imports = [] } = metafile.outputs[path.relative(ROOT, file)] ?? {};
    const sources = Object.entries(inputs).flatMap(([source, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [source] : [],
    );
    return { name: path.basename(file), text, sources, imports: imports.map((one) => path.basename(one.path)) };
  });
}

/** One folder for each plugin. A file that is as it was keeps its time, so that cargo has nothing to do. */
export async function writeBundles(): Promise<void> {
  await withTemporaryFolder({ parent: path.dirname(BUNDLES), prefix: "unfinished-bundles-" }, writeBundlesBy);
}

async function writeBundlesBy(temporary: string): Promise<void> {
  for (const plugin of PLUGINS) {
    const folder = path.join(BUNDLES, plugin);
    const modules = await bundlePlugin(plugin);
    await mkdir(folder, { recursive: true });
    for (const file of await readdir(folder)) {
      if (!modules.some(({ name }) => name === file)) await rm(path.join(folder, file), { recursive: true });
    }
    for (const { name, text } of modules) {
      const file = path.join(folder, name);
      if ((await readFile(file, "utf8").catch(() => undefined)) === text) continue;
      await writeFile(path.join(temporary, name), text);
      await rename(path.join(temporary, name), file);
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
