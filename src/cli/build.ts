import { chmod, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { buildSingle } from "./single-executable.ts";

/**
 * Bundles the plugin into dist/kubectl-macpool.js: one file that runs with any Node from 22.19 on, wherever it is put.
 * It is CommonJS, as Node assumes for a single .js file; inside this repository dist/package.json says so.
 */
const root = join(import.meta.dirname, "../..");
const dist = join(root, "dist");
const outfile = join(dist, "kubectl-macpool.js");

/** Writes the executable and returns its path. It takes a tenth of a second, so nothing checks whether it is up to date. */
export async function buildCli(): Promise<string> {
  await build({
    entryPoints: [join(root, "src/cli/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    target: "node22.19",
    format: "cjs",
    minify: true,
    legalComments: "none",
    banner: { js: "#!/usr/bin/env node" },
    logLevel: "warning",
  });
  await writeFile(join(dist, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
  await chmod(outfile, 0o755);
  return outfile;
}

/** `--single`: also as one executable that needs no Node. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { single: { type: "boolean" } } });
  const bundle = await buildCli();
  if (!values.single) return;
  const { path, bytes } = await buildSingle(bundle);
  console.log(`${relative(root, path)}: ${(bytes / 1e6).toFixed(0)} MB, with Node ${process.versions.node}`);
}

if (import.meta.main) await main();
