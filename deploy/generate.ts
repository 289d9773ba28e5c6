/** `npm run generate`: writes the files of deploy/ that are made from code. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { filesInGit } from "./generated-files.ts";

for (const { path, text } of filesInGit()) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`deploy/${path}: ${text.split("\n").length - 1} lines`);
}
