/** Imports what each `main.ts` imports, without running it; see compile-cache.ts. */
import { glob, readFile } from "node:fs/promises";
import { flushCompileCache } from "node:module";
import { dirname, resolve } from "node:path";

const repository = resolve(import.meta.dirname, "..", "..");
const MAINS = ["src/*/main.ts", "test/cluster/supervisor.ts", "test/cluster/process-node/main.ts"];

for await (const main of glob(MAINS, { cwd: repository })) {
  const text = await readFile(resolve(repository, main), "utf8");
  for (const [, specifier = ""] of text.matchAll(/ from "(\.[^"]+)"/g)) {
    await import(resolve(repository, dirname(main), specifier));
  }
}
flushCompileCache();
process.exit();
