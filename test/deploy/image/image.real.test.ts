import { execFile } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PLUGINS } from "../../../cni-plugins/build/bundle.ts";
import { machineArch } from "../../../cni-plugins/build/toolchain.ts";
import { CSV_GENERATOR, DEFAULT_IMAGE, IMAGE_PROCESSES, pluginFolder } from "../../../src/api/image.ts";
import { isRoot } from "../../cluster/requirements.ts";
import { buildCrane, type Registry, startRegistry } from "../../support/registry.ts";
import { build, buildOrReason, builtFile, SIZE_BUDGET, summaryOf, TIME, type Unpacked, unpack } from "./built-image.ts";
import { firstStart, inImage, pluginStart } from "./start.ts";

const run = promisify(execFile);
const BUILD_TIMEOUT_MS = 600_000;

const arch = machineArch();
const folder = await mkdtemp(path.join(tmpdir(), "image-test-"));
const { summary, reason } = await buildOrReason(folder, arch);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.skipIf(reason !== undefined)("the image", { timeout: BUILD_TIMEOUT_MS }, () => {
  const digest = summary?.digest ?? "";
  let image: Unpacked;
  let registry: Registry;
  let crane: string;

  beforeAll(async () => {
    crane = await buildCrane();
    [image, registry] = await Promise.all([unpack(folder, digest, arch), startRegistry()]);
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    await image[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });

  const files = (): string[] => readdirSync(image.root, { recursive: true, encoding: "utf8" });

  it("keeps to its size", () => {
    expect(summary?.archs).toEqual([arch]);
    expect(summary?.compressedBytes).toBeLessThan(SIZE_BUDGET.compressedBytes);
    expect(summary?.unpackedBytes).toBeLessThan(SIZE_BUDGET.unpackedBytes);
  });

  it("has Node, its libraries and the CNI executables to run, and nothing else: no shell, no package manager", () => {
    const programs = files().filter((name) => {
      const stat = lstatSync(path.join(image.root, name));
      return stat.isFile() && (stat.mode & 0o111) !== 0 && !name.includes(".so");
    });
    const plugins = PLUGINS.map((name) => `app/${pluginFolder(arch)}/${name}`);
    expect(programs.toSorted()).toEqual([...plugins, "nodejs/bin/node", CSV_GENERATOR.slice(1)].toSorted());
    expect(files().filter((name) => name.includes("node_modules"))).toEqual([]);
  });

  it("is an archive that Docker and what reads Docker's archives load, too", async () => {
    const archive = builtFile(folder, ".oci.tar");
    const { stdout, stderr } = await run(crane, ["validate", "--tarball", archive]);
    expect(`${stdout}${stderr}`).toContain("PASS");
    const [loaded] = JSON.parse((await run("tar", ["-xOf", archive, "manifest.json"])).stdout) as {
      RepoTags: string[];
    }[];
    expect(loaded?.RepoTags).toEqual([DEFAULT_IMAGE]);
  });

  it("runs as nobody in particular, and nothing in it is theirs to write", () => {
    expect(image.config.config.User).toBe("65532:65532");
    expect(image.config.config.Entrypoint).toEqual(["/nodejs/bin/node"]);
    const writable = files().filter((name) => {
      const stat = lstatSync(path.join(image.root, name));
      return !stat.isSymbolicLink() && (stat.mode & 0o002) !== 0;
    });
    expect(writable).toEqual(["tmp"]);
  });

  it("carries the SBOM that lies beside it", () => {
    const inside = readFileSync(path.join(image.root, "usr/share/sbom/cluster-network-addons.spdx.json"), "utf8");
    expect(inside).toBe(readFileSync(builtFile(folder, `-${arch}.spdx.json`), "utf8"));
  });

  it.runIf(isRoot()).each(IMAGE_PROCESSES)("starts %s on a read-only root without any right", async (name) => {
    const start = firstStart(name);
    const { code, output } = await inImage(image.root, start);
    expect(output).toMatch(start.says);
    expect(code).toBe(start.code);
  });

  it.runIf(isRoot())(
    "generates the ClusterServiceVersion where the HyperConverged operator looks for that",
    async () => {
      const flags = ["--namespace=kubevirt-hyperconverged", "--version=1.18.0", "--a-new-flag=1", "--dump-crds"];
      const { code, output } = await inImage(image.root, { command: [CSV_GENERATOR, ...flags], env: {} });
      expect(code).toBe(0);
      expect(output.match(/^kind: .*$/gm)).toEqual(["kind: ClusterServiceVersion", "kind: CustomResourceDefinition"]);
      expect(output).toContain("name: cluster-network-addons-operator.1.18.0\n");
    },
  );

  it.runIf(isRoot()).each(PLUGINS)("starts the CNI executable %s", async (name) => {
    const start = pluginStart(name, arch);
    const { code, output } = await inImage(image.root, start);
    expect(output).toMatch(start.says);
    expect(code).toBe(start.code);
  });

  it("is of the time of SOURCE_DATE_EPOCH, also its files", () => {
    expect(image.config.created).toBe("2023-11-14T22:13:20Z");
    const times = files().map((name) => lstatSync(path.join(image.root, name)).mtimeMs);
    expect(new Set(times)).toEqual(new Set([1_700_000_000_000]));
  });

  it("is the same bytes for another user's settings, and a registry holds it whole", async () => {
    const name = `${registry.host}/some/image`;
    const settings = { ...TIME, TZ: "Asia/Kathmandu", LANG: "C", LC_ALL: "C", HOSTNAME: "elsewhere" };
    const pushed = await build(path.join(folder, "again"), ["--arch", arch, "--push", `${name}:1`], settings);
    expect(pushed.stderr).toContain(`pushed ${name}@${digest}`);
    expect(summaryOf(pushed)).toEqual(summary);
    expect((await run(crane, ["digest", `${name}:1`])).stdout.trim()).toBe(digest);
    // Reads every layer and compares sizes, digests and the uncompressed content.
    const validated = await run(crane, ["validate", "--remote", `${name}:1`]);
    expect(`${validated.stdout}${validated.stderr}`).toContain("PASS");
  });
});
