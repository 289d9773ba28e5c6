import { execFile } from "node:child_process";
import { chmod, copyFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** The plugin as one executable with this Node in it, for machines that have none (Node's single executable applications). */

/** Where Node looks for the program, and what says that there is one; both are Node's. */
const RESOURCE = "NODE_SEA_BLOB";
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const POSTJECT = join(import.meta.dirname, "../../node_modules/postject/dist/cli.js");

export interface BuiltFile {
  readonly path: string;
  readonly bytes: number;
}

/** Makes it of the bundle, for the system and the CPU of this machine, beside the bundle. */
export async function buildSingle(bundle: string): Promise<BuiltFile> {
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
