/** `npm run generate`: writes the files of deploy/ and the tables of docs/reference that are made from code. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { filesInGit, type GeneratedFile } from "./generated-files.ts";
import { referencePages } from "./reference-tables.ts";

const ROOT = join(import.meta.dirname, "..");

function write(folder: string, files: readonly GeneratedFile[]): void {
  for (const { path, text } of files) {
    const file = join(ROOT, folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(`${folder}/${path}: ${text.split("\n").length - 1} lines`);
  }
}

write("deploy", filesInGit());
write("docs/reference", referencePages());
