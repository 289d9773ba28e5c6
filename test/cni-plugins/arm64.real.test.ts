import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { PLUGINS } from "../../cni-plugins/build/bundle.ts";
import { BuildError } from "../../cni-plugins/build/toolchain.ts";
import { add, type CniCall, cni, del } from "../netns/cni-call.ts";
import { BRIDGE, NETNS, PreparedNode } from "../netns/prepared-node.ts";
import { findArm64Emulator } from "./arm64-emulator.ts";
import { pathsOfBuild } from "./source-paths.ts";

const BUILD_TIMEOUT_MS = 600_000;
const SIZE_LIMIT_BYTES = 2.6e6;
const ELF_MACHINE_AT = 18;
const EM_AARCH64 = 183;
const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: BRIDGE, portIsolation: true, mtu: 1400 };

const emulator = findArm64Emulator();
const built = await build();

/** The folder, or why there is none. */
async function build(): Promise<{ folder?: string; reason?: string }> {
  if (emulator === undefined) return { reason: "qemu-user-static is neither installed nor to be downloaded" };
  try {
    return { folder: await buildPlugins({ arch: "arm64", log: (line) => console.error(line) }) };
  } catch (error) {
    if (error instanceof BuildError) return { reason: error.message };
    throw error;
  }
}

describe.skipIf(built.reason !== undefined)("the executables for arm64", { timeout: BUILD_TIMEOUT_MS }, () => {
  const file = (plugin: string): string => path.join(built.folder ?? "", plugin);
  let node: PreparedNode;

  beforeAll(async () => {
    node = await PreparedNode.create();
  });
  afterAll(() => node[Symbol.asyncDispose]());

  /** The emulator runs what it is given; a script stands for the executable. */
  async function call(plugin: string): Promise<CniCall> {
    const script = `/run/${plugin}-arm64`;
    const command = [...(emulator ?? []), file(plugin)].join(" ");
    await node.shell(`printf '#!/bin/sh\\nexec ${command}\\n' >${script} && chmod +x ${script}`);
    const one = await node.call(plugin);
    return { ...one, executable: script, env: { ...one.env, PATH: "/usr/bin:/bin" } };
  }

  it.each(PLUGINS)("%s is small and for that machine", async (plugin) => {
    const elf = await readFile(file(plugin));
    expect(elf.readUInt16LE(ELF_MACHINE_AT)).toBe(EM_AARCH64);
    expect(elf.length).toBeLessThan(SIZE_LIMIT_BYTES);
  });

  it.each(PLUGINS)("%s contains no path of the machine it was built on", async (plugin) => {
    expect(pathsOfBuild(await readFile(file(plugin)))).toEqual([]);
  });

  it("answer VERSION as the others do", async () => {
    for (const plugin of ["bridge", "tuning"]) {
      const native = await cni("VERSION", await node.call(plugin), "{}");
      expect((await cni("VERSION", await call(plugin), "{}")).json).toEqual(native.json);
    }
  });

  it("attach, check and detach", async () => {
    const [bridge, tuner] = [await call("bridge"), await call("tuning")];
    const before = await node.state();
    const result = await add(bridge, CONFIG);
    expect(result).toMatchObject({ interfaces: [{ name: BRIDGE }, {}, { name: "net1", sandbox: NETNS }] });
    expect(await node.container.link("net1")).toMatchObject({ mtu: 1400, operstate: "UP" });
    expect((await cni("CHECK", bridge, { ...CONFIG, prevResult: result })).stdout).toBe("");
    const tuning = { ...CONFIG, type: "tuning", mac: "02:00:00:00:00:99", prevResult: result };
    await add(tuner, tuning);
    expect(await node.container.link("net1")).toMatchObject({ address: "02:00:00:00:00:99" });
    await del(tuner, tuning);
    await del(bridge, CONFIG);
    expect(await node.state()).toBe(before);
  });

  it("say what is wrong", async () => {
    const { code, json } = await cni("ADD", await call("bridge"), { ...CONFIG, mtu: 7 });
    expect([code, json?.code]).toEqual([1, 7]);
  });
});

if (built.reason !== undefined) console.warn(`the executables for arm64 are not tested: ${built.reason}`);
