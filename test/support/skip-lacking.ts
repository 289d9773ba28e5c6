/** Skips what needs a program that this machine lacks, before each test of a real project. */
import { join, relative } from "node:path";
import { beforeEach } from "vitest";
import { NEEDS, neededBy } from "../tools/debian/needs.ts";
import { lacks } from "../tools/debian/programs.ts";

const root = join(import.meta.dirname, "..", "..");
const lacking = Object.keys(NEEDS).filter((program) => lacks(program));

beforeEach(({ task, skip }) => {
  const needed = neededBy(lacking, relative(root, task.file.filepath), task.name);
  if (needed.length > 0) skip(`needs ${needed.join(", ")}`);
});
