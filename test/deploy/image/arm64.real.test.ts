import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PLUGINS } from "../../../cni-plugins/build/bundle.ts";
import { IMAGE_NODE, IMAGE_PROCESSES, IMAGE_ROOT, pluginFolder } from "../../../src/api/image.ts";
import { findArm64Emulator } from "../../cni-plugins/arm64-emulator.ts";
import { buildOrReason, SIZE_BUDGET, type Unpacked, unpack } from "./built-image.ts";
import { firstStart, pluginStart, run } from "./start.ts";

const BUILD_TIMEOUT_MS = 900_000;
/** Node alone takes seconds to start under emulation. */
const START_TIMEOUT_MS = 240_000;
const ELF_MACHINE_AT = 18;
const EM_AARCH64 = 183;

const emulator = findArm64Emulator();
const folder = await mkdtemp(path.join(tmpdir(), "image-test-"));
const { summary, reason } = await buildOrReason(folder, "arm64");
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.skipIf(reason !== undefined)("the image for arm64", { timeout: START_TIMEOUT_MS }, () => {
  let image: Unpacked;
  beforeAll(async () => {
    image = await unpack(folder, summary?.digest ?? "", "arm64");
  }, BUILD_TIMEOUT_MS);
  afterAll(() => image[Symbol.asyncDispose]());

  /** The emulator takes the loader and the libraries from the image; other paths are this machine's. */
  const emulated = (command: readonly string[]): string[] => [
    ...(emulator ?? []),
    ...(emulator?.length === 0 ? [] : ["-L", image.root]),
    ...command.map((word) => (word.startsWith("/") ? path.join(image.root, word) : word)),
  ];

  it("keeps to its size", () => {
    expect(summary?.archs).toEqual(["arm64"]);
    expect(summary?.compressedBytes).toBeLessThan(SIZE_BUDGET.compressedBytes);
    expect(summary?.unpackedBytes).toBeLessThan(SIZE_BUDGET.unpackedBytes);
  });

  it("says so, and has programs for that machine only", async () => {
    expect(image.config.architecture).toBe("arm64");
    const plugins = PLUGINS.map((name) => `${IMAGE_ROOT}/${pluginFolder("arm64")}/${name}`);
    for (const program of [IMAGE_NODE, ...plugins]) {
      const elf = await readFile(path.join(image.root, program));
      expect([program, elf.readUInt16LE(ELF_MACHINE_AT)]).toEqual([program, EM_AARCH64]);
    }
    expect(existsSync(path.join(image.root, IMAGE_ROOT, pluginFolder("amd64")))).toBe(false);
  });

  it.skipIf(emulator === undefined).each(IMAGE_PROCESSES)("starts %s", async (name) => {
    const start = firstStart(name);
    const { code, output } = await run(emulated(start.command), start.env);
    expect(output).toMatch(start.says);
    expect(code).toBe(start.code);
  });

  it.skipIf(emulator === undefined).each(PLUGINS)("starts the CNI executable %s", async (name) => {
    const start = pluginStart(name, "arm64");
    const { code, output } = await run(emulated(start.command), start.env);
    expect(output).toMatch(start.says);
    expect(code).toBe(start.code);
  });
});
