import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { OTHER_PROCESSOR } from "../../support/other-processor.ts";
import { build } from "./built-image.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "arguments-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each<[args: string[], env: NodeJS.ProcessEnv, sentence: string]>([
  [["--arch", "s390x"], {}, "--arch takes amd64, arm64 or both with a comma, found s390x"],
  [
    [],
    { NODE_OPTIONS: OTHER_PROCESSOR },
    "the CNI plugins are made for amd64 and arm64, this machine is s390x: build them on another",
  ],
  [
    ["--push", "name:1"],
    {},
    "name:1 is not the name of an image: give REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST",
  ],
  [[], { SOURCE_DATE_EPOCH: "today" }, "SOURCE_DATE_EPOCH must be seconds since 1970, found today"],
])("refuses %j %j in one sentence before it makes anything", async (args, env, sentence) => {
  const output = path.join(folder, "output");
  expect(await build(output, args, env)).toEqual({ code: 1, stdout: "", stderr: `${sentence}\n` });
  expect(existsSync(output)).toBe(false);
});
