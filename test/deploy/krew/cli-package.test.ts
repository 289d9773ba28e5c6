import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { cliPackage } from "../../../deploy/krew/cli-package.ts";
import { PRODUCT_VERSION } from "../../../src/api/names.ts";
import { buildCli } from "../../../src/cli/build.ts";

it("has an archive whose program runs and which is the same each time, and a manifest with its version and checksum", async () => {
  const files = await cliPackage("https://downloads.test/v1");
  expect(await cliPackage("https://downloads.test/v1")).toEqual(files);
  const [archive, manifest] = files;
  expect(files.map(({ path }) => path)).toEqual(["krew/kubectl-macpool.tar.gz", "krew/macpool.yaml"]);
  const { metadata, spec } = parse(String(manifest?.content));
  expect(metadata.name).toBe("macpool");
  expect(spec.version).toBe(`v${PRODUCT_VERSION}`);
  expect(spec.platforms).toHaveLength(4);
  const sha256 = createHash("sha256")
    .update(archive?.content ?? "")
    .digest("hex");
  for (const platform of spec.platforms) {
    expect(platform).toMatchObject({
      uri: "https://downloads.test/v1/kubectl-macpool.tar.gz",
      sha256,
      bin: "kubectl-macpool",
    });
  }
  const folder = mkdtempSync(join(tmpdir(), "krew-"));
  try {
    execFileSync("tar", ["-xz", "-C", folder], { input: archive?.content });
    for (const { from } of spec.platforms[0].files) execFileSync("test", ["-e", join(folder, from)]);
    const said = execFileSync(process.execPath, [join(folder, "kubectl-macpool"), "version"], { encoding: "utf8" });
    expect(said).toBe(`${PRODUCT_VERSION}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("replaces the program when it is built again, so that who reads it meanwhile has it whole", async () => {
  await using reader = await open(await buildCli());
  await buildCli();
  expect((await reader.stat()).nlink).toBe(0);
});
