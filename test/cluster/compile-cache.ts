/**
 * Node's compile cache of this tree, kept beside the installed packages: what type stripping and V8 made of the sources.
 * Every supervisor, node, replica and pod is a Node process of its own, and half the work of its start is in there. Node
 * checks each entry against its source, and writes nothing where the tree is read-only, as it is in pods.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";

const repository = join(import.meta.dirname, "..", "..");

/** For processes that see the tree at `root`: entries are found by their place in it, wherever that is mounted. */
export const compileCacheEnv = (root: string = repository): Readonly<Record<string, string>> => ({
  NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "node-compile"),
  NODE_COMPILE_CACHE_PORTABLE: "1",
});

/** Loads every process's modules once, so that also processes that only ever get killed find them compiled. */
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
