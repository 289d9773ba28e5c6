import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, copyFile, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseArgs, promisify } from "node:util";
import { build, type Plugin } from "esbuild";

/**
 * Bundles the plugin into dist/kubectl-macpool.js: one file that runs with any Node from 22.19 on, wherever it is put.
 * It is CommonJS, as Node assumes for a single .js file; inside this repository dist/package.json says so.
 */
const root = join(import.meta.dirname, "../..");
const dist = join(root, "dist");
const outfile = join(dist, "kubectl-macpool.js");

/** The client of the API server can count its calls. Nobody asks a command for them. */
const withoutMetrics: Plugin = {
  name: "without-metrics",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/node_modules\/prom-client\/index\.js$/ }, () => ({ contents: "module.exports = {};" }));
  },
};

/**
 * Writes the executable and returns its path. It takes a tenth of a second, so nothing checks whether it is up to date. Others
 * may build and read it at the same time.
 */
export async function buildCli(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, "src/cli/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    target: "node22.19",
    format: "cjs",
    minify: true,
    legalComments: "none",
    plugins: [withoutMetrics],
    banner: { js: "#!/usr/bin/env node" },
    logLevel: "warning",
    write: false,
  });
  await mkdir(dist, { recursive: true });
  await replace(join(dist, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`, 0o644);
  for (const { contents } of outputFiles) await replace(outfile, contents, 0o755);
  return outfile;
}

async function replace(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`;
  try {
    await writeFile(unfinished, content);
    await chmod(unfinished, mode);
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** The plugin as one executable with this Node in it, for machines that have none (Node's single executable applications). */

/** Where Node looks for the program, and what says that there is one; both are Node's. */
const RESOURCE = "NODE_SEA_BLOB";
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const POSTJECT = join(import.meta.dirname, "../../node_modules/postject/dist/cli.js");

/** Makes it of the bundle, for the system and the CPU of this machine, beside the bundle. */
async function buildSingle(bundle: string): Promise<{ readonly path: string; readonly bytes: number }> {
  if (process.platform !== "linux")
    throw new Error("--single builds on Linux: other systems would have to sign the result");
  const node = (...args: string[]) => promisify(execFile)(process.execPath, args);
  const path = bundle.replace(/\.js$/, "");
  const [config, blob, unfinished] = [`${path}.sea.json`, `${path}.blob`, `${path}.unfinished`];
  try {
    await writeFile(config, JSON.stringify({ main: bundle, output: blob, disableExperimentalSEAWarning: true }));
    await node("--experimental-sea-config", config);
    await copyFile(process.execPath, unfinished);
    await chmod(unfinished, 0o755);
    await node(POSTJECT, unfinished, RESOURCE, blob, "--sentinel-fuse", FUSE);
    await rename(unfinished, path);
  } finally {
    await Promise.all([config, blob, unfinished].map((file) => rm(file, { force: true })));
  }
  return { path, bytes: (await stat(path)).size };
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
