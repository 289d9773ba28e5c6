/** Imports what each `main.ts` imports, without running it; see compile-cache.ts. */
import { symlinkSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { flushCompileCache, getCompileCacheDir } from "node:module";
import { basename, dirname, resolve } from "node:path";

const repository = resolve(import.meta.dirname, "..", "..");
const MAINS = ["src/*/main.ts", "test/cluster/supervisor.ts", "test/cluster/process-node/main.ts"];
/** root and the user of the product's restricted pods: Node keeps a directory for each, which can be the same. */
const POD_USERS = [0, 65532];

for await (const main of glob(MAINS, { cwd: repository })) {
  const text = await readFile(resolve(repository, main), "utf8");
  for (const [, specifier = ""] of text.matchAll(/ from "(\.[^"]+)"/g)) {
    await import(resolve(repository, dirname(main), specifier));
  }
}
flushCompileCache();

const directory = getCompileCacheDir();
for (const user of POD_USERS) {
  if (directory === undefined || user === process.getuid?.()) continue;
  try {
    symlinkSync(basename(directory), directory.replace(/\d+$/, String(user)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
process.exit();
