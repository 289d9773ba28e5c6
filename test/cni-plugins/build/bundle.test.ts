import path from "node:path";
import { expect, it } from "vitest";
import { bundlePlugin, type Module } from "../../../cni-plugins/build/bundle.ts";

const bridge = await bundlePlugin("bridge");

/** The source files that a part brings with it, itself or by what it imports. */
function loadedBy(part: string, modules: readonly Module[] = bridge): string[] {
  const found = modules.find(({ name }) => name === `${part}.js`);
  const own = found?.sources.map((file) => path.basename(file)) ?? [];
  return [...own, ...(found?.imports ?? []).flatMap((name) => loadedBy(path.basename(name, ".js"), modules))];
}

it.each(["bridge", "tuning"] as const)("reads next to nothing to answer VERSION of %s", async (plugin) => {
  const loaded = new Set(loadedBy("main", await bundlePlugin(plugin)));
  expect([...loaded].toSorted()).toEqual(["cni-error.ts", "main.ts", "start.ts", "version.ts"]);
});

it("reads nothing for layer 3 and packet filters in an ADD or DEL that has to do with layer 2", () => {
  const loaded = loadedBy("call");
  expect(loaded).toContain("add.ts");
  expect(loaded).toContain("del.ts");
  for (const file of ["route.ts", "delegate.ts", "nftables.ts", "spoof-check.ts", "vlan-steps.ts", "check.ts"]) {
    expect(loaded).not.toContain(file);
    expect(loadedBy("more")).toContain(file);
  }
});

it("has each source file once, so that an error of one part is known to the others", () => {
  const sources = bridge.flatMap((module) => module.sources);
  expect(sources).toEqual([...new Set(sources)]);
});
