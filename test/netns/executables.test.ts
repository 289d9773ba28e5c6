import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { PLUGINS } from "../../cni-plugins/build/bundle.ts";
import { pathsOfBuild } from "../cni-plugins/source-paths.ts";
import { cni, pluginPath } from "./cni-call.ts";
import { call, container, freshNode, node } from "./fresh-node.ts";

const SIZE_LIMIT_BYTES = 2.6e6;
const PT_INTERP = 3;
const PT_DYNAMIC = 2;
const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };

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
    const executable = await readFile(await pluginPath(plugin));
    expect(pathsOfBuild(executable)).toEqual([]);
    expect(executable.toString("latin1")).not.toContain(process.cwd());
  });
});

describe("the bridge plugin's executable", () => {
  freshNode();

  it.each(["bridge", "tuning"])("names the versions that %s supports", async (plugin) => {
    const { code, json } = await cni("VERSION", { node, executable: await pluginPath(plugin) }, "");
    expect(code).toBe(0);
    expect(json).toEqual({
      cniVersion: "1.1.0",
      supportedVersions: ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"],
    });
  });

  it("fails when nobody can read the versions", async () => {
    const argv = ["/bin/sh", "-c", `exec "$0" >/dev/full`, await pluginPath("bridge")];
    expect((await node.run(argv, { env: { CNI_COMMAND: "VERSION" } })).code).toBe(1);
  });

  it("says what it is when a person starts it with an empty environment", async () => {
    const { code, stdout, stderr } = await node.run([await pluginPath("bridge")]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("CNI bridge plugin");
  });

  it("works without a working directory", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "cni-"));
    const env = {
      CNI_COMMAND: "ADD",
      CNI_CONTAINERID: "c",
      CNI_NETNS: container.path,
      CNI_IFNAME: "net1",
      CNI_PATH: "/",
    };
    const script = `cd "$0" && rmdir "$0" && exec "$1"`;
    const argv = ["/bin/sh", "-c", script, directory, await pluginPath("bridge")];
    const { code } = await node.run(argv, { env, input: JSON.stringify(CONFIG) });
    await rm(directory, { recursive: true, force: true });
    expect(code).toBe(0);
    expect(await container.link("net1")).toBeDefined();
  });

  it.each([
    ["a closed output for warnings", `exec "$0" 2>&-`],
    ["warnings that nobody reads", `mkfifo "$1"; exec 3<>"$1" 4>"$1" 3<&-; exec "$0" 2>&4`],
    ["a closed output for the answer", `exec "$0" >&-`],
  ])("attaches with %s", async (_, script) => {
    const directory = await mkdtemp(path.join(tmpdir(), "cni-"));
    const env = {
      ...{ PATH: "/usr/bin:/bin", CNI_COMMAND: "ADD", CNI_CONTAINERID: "c", CNI_NETNS: container.path },
      ...{ CNI_IFNAME: "net1", CNI_PATH: "/" },
    };
    const argv = ["/bin/sh", "-c", script, await pluginPath("bridge"), path.join(directory, "fifo")];
    const { code } = await node.run(argv, { env, input: JSON.stringify({ ...CONFIG, portIsolatoin: true }) });
    await rm(directory, { recursive: true, force: true });
    expect(code).toBe(0);
    await expect.poll(async () => (await container.link("net1"))?.operstate).toBe("UP");
  });

  it("warns about a key it does not know and names the one that was meant", async () => {
    const { code, stderr } = await cni("ADD", call, { ...CONFIG, portIsolatoin: true });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('"portIsolatoin" is ignored: did you mean "portIsolation"?'),
    ]);
  });
});
