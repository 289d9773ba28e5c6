import path from "node:path";
import { expect, it } from "vitest";
import { bundlePlugin } from "../../../cni-plugins/bundle.ts";

const { metafile } = await bundlePlugin("bridge");

/** The source files that a module of the bundle brings with it. */
function filesOf(module: string): string[] {
  const entry = Object.keys(metafile.outputs).find((file) => path.basename(file) === module);
  if (entry === undefined) throw new Error(`the bundle has no ${module}`);
  const reached: string[] = [];
  const visit = (file: string) => {
    if (reached.includes(file)) return;
    reached.push(file);
    for (const { path: imported } of metafile.outputs[file]?.imports ?? []) visit(imported);
  };
  visit(entry);
  return reached
    .flatMap((file) => Object.keys(metafile.outputs[file]?.inputs ?? {}))
    .map((file) => path.basename(file));
}

const LAYER_3 = ["address.ts", "address-result.ts", "delegate.ts", "ip-address.ts", "route.ts", "gateway-steps.ts"];
const RULES = ["nftables.ts", "nft-expression.ts", "spoof-check.ts", "masquerade-iptables.ts"];

it("reads the verbs only when one is called", () => {
  const loaded = filesOf("main.js");
  expect(loaded).toContain("plugin.ts");
  for (const file of ["add.ts", "del.ts", "check.ts", "link.ts", ...LAYER_3, ...RULES]) {
    expect(loaded).not.toContain(file);
  }
});

it("reads nothing for layer 3 and packet filters in an ADD or DEL that has to do with layer 2", () => {
  for (const verb of ["add", "del"]) {
    const loaded = filesOf(`${verb}.js`);
    expect(loaded).toContain(`${verb}.ts`);
    for (const file of [...LAYER_3, ...RULES, "vlan-steps.ts", "bridge-vlan.ts"]) expect(loaded).not.toContain(file);
  }
});

it("has the code of a class once, so that an error of one part is known to the others", () => {
  const outputs = Object.values(metafile.outputs).filter(({ inputs }) =>
    Object.keys(inputs).some((file) => file.endsWith("protocol/cni-error.ts")),
  );
  expect(outputs).toHaveLength(1);
});
