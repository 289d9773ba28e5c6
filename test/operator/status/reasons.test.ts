import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEGRADED_REASONS } from "../../../src/operator/status/reasons.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(ROOT, "docs/reference/reasons.md"), "utf8");
const [, section = ""] = PAGE.split("## Reasons of Degraded");
const [, table = ""] = /\n(\| reason of Degraded .*?)\n\n/s.exec(section) ?? [];
const documented = table
  .split("\n")
  .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, word]) => word));

describe("the reasons of Degraded", () => {
  it("are documented in docs/reference/reasons.md, each of them once, and no others", () => {
    expect(documented.toSorted()).toEqual([...DEGRADED_REASONS].sort());
  });

  it("are constants, so that none is left out", () => {
    const files = ["rollout", "pod-trouble", "event-query"].map((name) => `src/operator/status/${name}.ts`);
    const literals = files.flatMap((file) => [...readFileSync(join(ROOT, file), "utf8").matchAll(/reason: "\w+"/g)]);
    expect(literals.map(([text]) => text)).toEqual([]);
  });
});
