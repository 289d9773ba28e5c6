import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isConfigured, removeConfig, removeLeftovers } from "../../src/multus-sidecar/leftovers.ts";

const SHIM = { cniVersion: "0.3.1", name: "multus-cni-network", type: "multus-shim" };

describe("what multus leaves on a node", () => {
  let node: string;
  const at = (...parts: string[]): string => join(node, ...parts);
  const bins = ["present", "former"];

  beforeEach(async () => {
    node = await mkdtemp(join(tmpdir(), "multus-leftovers-"));
    for (const name of ["config", "results", "crio", ...bins]) await mkdir(at(name));
    await writeFile(at("config", "10-first.conflist"), "{}");
    for (const directory of bins) {
      for (const name of ["multus-shim", "passthru", "ptp"]) await writeFile(at(directory, name), "");
    }
    for (const name of ["multus-cni-network-a-eth0", "first-a-eth0"]) await writeFile(at("results", name), "{}");
  });
  afterEach(() => rm(node, { recursive: true, force: true }));

  const leftovers = () => ({
    binDirectories: [...bins.map((name) => at(name)), at("never-there")],
    resultDirectory: at("results"),
    crioSocket: at("crio", "crio.sock"),
  });

  it.each([
    ["whole", JSON.stringify(SHIM)],
    ["half written", '{"cniVersion": "0.3'],
    ["empty", ""],
  ])("is a configuration that is %s, and that one is removed", async (_, text) => {
    await writeFile(at("config", "00-multus.conf"), text);
    expect(await isConfigured(at("config"))).toBe(true);
    expect(await removeConfig(at("config"))).toBe(true);
    expect(await readdir(at("config"))).toEqual(["10-first.conflist"]);
    expect(await isConfigured(at("config"))).toContain("00-multus.conf is not among");
    expect(await removeConfig(at("config"))).toBe(false);
  });

  it("is not the configuration of a multus without a daemon", async () => {
    await writeFile(at("config", "00-multus.conf"), JSON.stringify({ ...SHIM, type: "multus" }));
    expect(await removeConfig(at("config"))).toBe(false);
    expect(await readdir(at("config"))).toContain("00-multus.conf");
  });

  it("is its executables in every CNI directory and results of its network, and nothing of others", async () => {
    expect(await removeLeftovers(leftovers())).toHaveLength(5);
    for (const directory of bins) expect(await readdir(at(directory))).toEqual(["ptp"]);
    expect(await readdir(at("results"))).toEqual(["first-a-eth0"]);
    expect(await removeLeftovers(leftovers())).toEqual([]);
  });

  it("stays where CRI-O runs, which needs the shim to delete pods that were started with it", async () => {
    await writeFile(at("crio", "crio.sock"), "");
    expect(await removeLeftovers(leftovers())).toEqual([]);
    expect(await readdir(at("present"))).toEqual(["multus-shim", "passthru", "ptp"]);
  });
});
