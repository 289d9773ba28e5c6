import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { PLUGINS } from "../../cni-plugins/build.ts";
import { pluginPath } from "./cni-call.ts";

const SIZE_LIMIT_BYTES = 2.6e6;
const PT_INTERP = 3;
const PT_DYNAMIC = 2;

/** Types of an ELF64 file's program headers. */
function programHeaders(elf: Buffer): number[] {
  const start = Number(elf.readBigUInt64LE(32));
  const size = elf.readUInt16LE(54);
  return Array.from({ length: elf.readUInt16LE(56) }, (_, i) => elf.readUInt32LE(start + i * size));
}

describe.each(PLUGINS)("the executable %s", (plugin) => {
  it("needs no loader and no library of the node", async () => {
    const types = programHeaders(await readFile(await pluginPath(plugin)));
    expect(types).not.toContain(PT_INTERP);
    expect(types).not.toContain(PT_DYNAMIC);
  });

  it("is small", async () => {
    expect((await readFile(await pluginPath(plugin))).length).toBeLessThan(SIZE_LIMIT_BYTES);
  });

  it("contains no path of the machine it was built on", async () => {
    const text = (await readFile(await pluginPath(plugin))).toString("latin1");
    expect(text).not.toContain(process.cwd());
    expect(text).not.toContain("/.cargo/registry");
  });
});
