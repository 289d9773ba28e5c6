/**
 * Node's compile cache of this tree, in node_modules: what type stripping and V8 made of the sources. Every supervisor, node
 * and replica is a Node process, and the cache saves half the work of its start. Node checks each entry against its source.
 * Pods run bundles, which need no cache.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";

const repository = join(import.meta.dirname, "..", "..");

/** Entries are found by their place in the tree, wherever that is mounted. */
export const compileCacheEnv = (): Readonly<Record<string, string>> => ({
  NODE_COMPILE_CACHE: join(repository, "node_modules", ".cache", "node-compile"),
  NODE_COMPILE_CACHE_PORTABLE: "1",
});

/** Loads the modules of every process once: a process that is always killed would never write them. */
export async function fillCompileCache(): Promise<void> {
  const script = join(import.meta.dirname, "compile-cache-filling.ts");
  const child = spawn(process.execPath, [script], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ...compileCacheEnv() },
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`The compile cache was not filled: exit code ${code}`);
}
