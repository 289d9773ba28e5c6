import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../../cluster/command.ts";
import { OTHER_PROCESSOR } from "../../support/other-processor.ts";
import { build } from "./built-image.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "arguments-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const release = path.join(import.meta.dirname, "../../../deploy/release.ts");

it.each([
  [["--image", "a.test/b:1", "--load", "--image", "a.test/c:1"], "--image is given twice: give it once"],
  [["--load", "--load"], "--load is given twice: give it once"],
  [["--imgae", "a.test/b:1"], "Unknown option '--imgae'"],
  [
    ["--image", "a.test/b:1"],
    "a.test/b:1 has no digest: give REGISTRY/NAME@sha256:DIGEST, or add --load if the nodes have the image already",
  ],
  [[], "--image is missing: give REGISTRY/NAME@sha256:DIGEST, or --load if the nodes have the image already"],
])("writes no release for %j, and says why in one sentence", async (args, sentence) => {
  const { code, stdout, stderr } = await runCommand([process.execPath, release, ...args]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr.split("\n")).toEqual([expect.stringContaining(sentence), ""]);
});

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
  ...["ftp.debian.org/debian", "http://", "http://mirror.test/a b", "http://mirror.test/\nTrusted: yes", ""].map(
    (url): [string[], NodeJS.ProcessEnv, string] => [
      ["--debian-mirror", url],
      {},
      `--debian-mirror ${JSON.stringify(url)} is no mirror: give a URL such as https://mirror.example/debian`,
    ],
  ),
  [["--arch", "amd64", "--arch=arm64"], {}, "--arch is given twice: give it once"],
  [[], { SOURCE_DATE_EPOCH: "today" }, "SOURCE_DATE_EPOCH must be seconds since 1970, found today"],
])("refuses %j %j in one sentence before it makes anything", async (args, env, sentence) => {
  const output = path.join(folder, "output");
  expect(await build(output, args, env)).toEqual({ code: 1, stdout: "", stderr: `${sentence}\n` });
  expect(existsSync(output)).toBe(false);
});
