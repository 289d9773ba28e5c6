import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LONGEST } from "./longest-first.ts";

it("knows the files that take longest by the names they have", () => {
  expect(LONGEST.filter((file) => !existsSync(join(import.meta.dirname, "..", "..", file)))).toEqual([]);
});
