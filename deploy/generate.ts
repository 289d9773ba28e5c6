/** `npm run generate`: writes the files of deploy/ that are made from code. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generatedFiles } from "./generated-files.ts";

const root = join(import.meta.dirname, "..");

for (const { path, text } of generatedFiles()) {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`${path}: ${text.split("\n").length - 1} lines`);
}
