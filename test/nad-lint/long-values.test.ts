import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";

const BRIDGE = { cniVersion: "0.3.1", name: "n", type: "bridge", bridge: "br1" };

function messages(config: object, resource = "bridge.network.kubevirt.io/br1"): string[] {
  const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: resource };
  return lintNetwork({ name: "n", annotations, config: JSON.stringify(config) }).map(({ message }) => message);
}

describe("a value that somebody writes without measure", () => {
  it.each(["x".repeat(3_000), "\u{1f600}".repeat(3_000), "\u202e".repeat(3_000)])(
    "is shortened, and the message says its reason and remedy",
    (value) => {
      const [refused = ""] = messages({ ...BRIDGE, bridge: value });
      expect(refused).toMatch(/^"bridge": "/);
      expect(refused).toMatch(/The bridge plugin refuses it: pods will not start\.$/);
      expect(refused.length).toBeLessThan(300);
      for (const resource of [value.repeat(16), `bridge.network.kubevirt.io/${value.repeat(16)}`]) {
        const [differs = ""] = messages(BRIDGE, resource);
        expect(differs).toMatch(/but the config uses br1: .* Write bridge\.network\.kubevirt\.io\/br1\.$/);
        expect(differs.length).toBeLessThan(400);
      }
    },
  );

  it("is cut in the middle of the message where it has blanks", () => {
    const words = "x y ".repeat(15_000);
    const [differs = ""] = messages(BRIDGE, words);
    expect(differs).toMatch(/^annotation \S+ names "x y x y .* x y " but the config uses br1: .* Write \S+\/br1\.$/);
    expect(differs).toHaveLength(500);
    const [refused = ""] = messages({ ...BRIDGE, cniVersion: words });
    expect(refused).toMatch(/The bridge plugin refuses it: pods will not start\.$/);
  });
});
