import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/nad-lint/finding.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";

const BRIDGE = { type: "bridge", bridge: "br1" };

function lint(config: object): Finding[] {
  return lintNetwork({ name: "n", annotations: {}, config: JSON.stringify(config) });
}

describe("a long list of plugins", () => {
  it("is looked at from its start, and a finding says that the rest is not", () => {
    const bridges = (count: number) => ({ name: "n", plugins: Array.from({ length: count }, () => BRIDGE) });
    expect(lint(bridges(16)).map(({ code }) => code)).not.toContain("plugins-unseen");
    const said = lint(bridges(17));
    expect(said.filter(({ code }) => code === "plugins-unseen").map(({ message }) => message)).toEqual([
      '"plugins" has 17 plugins, and those after plugins[15] were not looked at. Write a shorter list.',
    ]);
    expect(said.filter(({ message }) => message.startsWith("plugins[16]"))).toEqual([]);
  });

  it("has few findings, were it a mebibyte", () => {
    const config = { name: "n".repeat(2 ** 19), plugins: Array(15_000).fill(BRIDGE) };
    expect(lint(config).length).toBeLessThan(100);
  });
});
