import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

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

if (import.meta.main) await buildCli();
