/**
 * TypeScript of the plugins to the JavaScript modules that the crate `host/` makes bytecode of. Each module, and each
 * name that one takes from another, costs every call that loads it, so what ADD and DEL both need is one module.
 */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { PRODUCT_VERSION } from "../src/api/names.ts";
import { PART_FILES as BRIDGE_PARTS } from "./bridge/parts.ts";
import { replaceFile } from "./replace-file.ts";
import { PART_FILES as TUNING_PARTS } from "./tuning/parts.ts";

export const PLUGINS = ["bridge", "tuning", "link-monitor"] as const;
export type PluginName = (typeof PLUGINS)[number];

const ROOT = path.resolve(import.meta.dirname, "..");
const BUNDLES = path.join(ROOT, "cni-plugins/host/target/bundles");

/** Relative to the plugin's folder. */
const PARTS: Readonly<Record<PluginName, Readonly<Record<string, string>>>> = {
  bridge: BRIDGE_PARTS,
  tuning: TUNING_PARTS,
  "link-monitor": {},
};

/** The module of what the parts `BASE_FOR` both need. No other one has the code of a class that it has. */
const BASE = "base";
const BASE_FOR = ["add", "del"];
/** Stands before the path of a source file that is in it. */
const IN_BASE = "base:";

export interface Bundle {
  readonly outputFiles: readonly { readonly path: string; readonly text: string }[];
  readonly metafile: Metafile;
}

/** The modules of a plugin: `main.js`, its parts, and what these have in common. */
export async function bundlePlugin(plugin: PluginName): Promise<Bundle> {
  const folder = path.join(ROOT, "cni-plugins", plugin);
  const main = await bundle(plugin, { entryPoints: { main: path.join(folder, "main.ts") } });
  const entryPoints = Object.fromEntries(
    Object.entries(PARTS[plugin]).map(([part, file]) => [part, path.join(folder, file)] as const),
  );
  if (Object.keys(entryPoints).length === 0) return main;
  const whole = await bundle(plugin, { entryPoints });
  if (!BASE_FOR.every((part) => part in entryPoints)) return joined([main, whole]);
  const [first = [], ...others] = BASE_FOR.map((part) => filesOf(whole.metafile, part));
  const common = first.filter((file) => others.every((files) => files.includes(file)));
  const parts = await bundle(plugin, { entryPoints, plugins: [without(common), withoutSideEffects] });
  const exported = new Exports();
  const outputFiles = parts.outputFiles.map((file) => ({ path: file.path, text: exported.replaceImports(file.text) }));
  const base = await bundle(plugin, {
    stdin: { contents: exported.statements().join("\n"), resolveDir: ROOT, sourcefile: BASE },
    outfile: path.join(BUNDLES, plugin, `${BASE}.js`),
  });
  return joined([main, { outputFiles, metafile: parts.metafile }, base]);
}

/** The source files whose code is in a module, as paths from the root. Constants are inlined: their files are nowhere. */
export function filesOf({ outputs }: Metafile, module: string): readonly string[] {
  const output = Object.entries(outputs).find(([file]) => path.basename(file) === `${module}.js`)?.[1];
  if (output === undefined) throw new Error(`the bundle has no ${module}.js`);
  return Object.entries(output.inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : []));
}

/** What the parts take out of `base.js`, under short names: each character is read by every call. */
class Exports {
  readonly #names: string[] = [];

  /** Minified imports as esbuild writes them; all of a module's in one statement. */
  replaceImports(text: string): string {
    const imported: string[] = [];
    const rest = text.replace(new RegExp(`import\\{([^}]*)\\}from"${IN_BASE}([^"]*)";`, "g"), (_, names, file) => {
      for (const name of names.split(",")) {
        const [exported, local = exported] = name.split(" as ");
        imported.push(`${this.#alias(exported, file)} as ${local}`);
      }
      return "";
    });
    if (rest.includes(`"${IN_BASE}`)) throw new Error("an import from the base was not understood");
    return imported.length === 0 ? rest : `import{${imported.join(",")}}from"./${BASE}.js";${rest}`;
  }

  statements(): readonly string[] {
    return this.#names.map((name, index) => {
      const [exported, file] = name.split(" ");
      return `export { ${exported} as $${index} } from "./${file}";`;
    });
  }

  #alias(exported: string, file: string): string {
    const name = `${exported} ${file}`;
    if (!this.#names.includes(name)) this.#names.push(name);
    return `$${this.#names.indexOf(name)}`;
  }
}

function bundle(plugin: PluginName, options: BuildOptions) {
  return build({
    absWorkingDir: ROOT,
    ...(options.outfile === undefined ? { outdir: path.join(BUNDLES, plugin) } : {}),
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    minify: true,
    legalComments: "none",
    define: { PRODUCT_VERSION: JSON.stringify(PRODUCT_VERSION) },
    logLevel: "silent",
    plugins: [withoutSideEffects],
    ...options,
    write: false,
    metafile: true,
  });
}

function joined(bundles: readonly Bundle[]): Bundle {
  return {
    outputFiles: bundles.flatMap(({ outputFiles }) => outputFiles),
    metafile: {
      inputs: Object.assign({}, ...bundles.map(({ metafile }) => metafile.inputs)),
      outputs: Object.assign({}, ...bundles.map(({ metafile }) => metafile.outputs)),
    },
  };
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

/** Leaves these source files out, to be imported from the base. */
function without(files: readonly string[]): Plugin {
  return {
    name: "without-base",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.?\// }, ({ path: file, resolveDir }) => {
        const source = path.relative(ROOT, path.join(resolveDir, file));
        return files.includes(source) ? { path: IN_BASE + source, external: true, sideEffects: false } : undefined;
      });
    },
  };
}
