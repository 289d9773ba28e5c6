import path from "node:path";
import { expect, it } from "vitest";
import { type Bundle, bundlePlugin, filesOf } from "../../../cni-plugins/bundle.ts";

const bundle = await bundlePlugin("bridge");
const { metafile } = bundle;

/** The source files that a module of the bundle brings with it, itself or by what it imports. */
function loadedBy(module: string, { metafile, outputFiles }: Bundle = bundle): string[] {
  const text = outputFiles.find((file) => path.basename(file.path) === `${module}.js`)?.text ?? "";
  const imported = [...text.matchAll(/from"\.\/(\w+)\.js"/g)].map(([, name]) => name ?? "");
  return [...filesOf(metafile, module).map((file) => path.basename(file)), ...imported.flatMap((one) => loadedBy(one))];
}

const LAYER_3 = ["address.ts", "address-result.ts", "delegate.ts", "ip-address.ts", "route.ts", "gateway-steps.ts"];
const RULES = ["nftables.ts", "nft-expression.ts", "spoof-check.ts", "masquerade-iptables.ts"];

it.each(["bridge", "tuning"] as const)("reads next to nothing to answer VERSION of %s", async (plugin) => {
  expect(loadedBy("main", await bundlePlugin(plugin)).toSorted()).toEqual([
    "main.ts",
    "parts.ts",
    "start.ts",
    "version.ts",
  ]);
});

it("reads the verbs only when one is called", () => {
  const loaded = loadedBy("bridge");
  expect(loaded).toContain("plugin.ts");
  for (const file of ["add.ts", "del.ts", "check.ts", ...LAYER_3, ...RULES]) expect(loaded).not.toContain(file);
});

it("reads nothing for layer 3 and packet filters in an ADD or DEL that has to do with layer 2", () => {
  for (const verb of ["add", "del"]) {
    const loaded = loadedBy(verb);
    expect(loaded).toContain(`${verb}.ts`);
    expect(loaded).toContain("netlink-socket.ts");
    for (const file of [...LAYER_3, ...RULES, "vlan-steps.ts", "bridge-vlan.ts"]) expect(loaded).not.toContain(file);
  }
});

it("has what every verb needs once, so that an error of one part is known to the others", () => {
  for (const file of ["cni-error.ts", "netlink-socket.ts", "message-batch.ts"]) {
    const modules = Object.values(metafile.outputs).filter(({ inputs }) =>
      Object.entries(inputs).some(([input, { bytesInOutput }]) => path.basename(input) === file && bytesInOutput > 0),
    );
    expect(modules, file).toHaveLength(1);
  }
});
