import { describe, expect, it } from "vitest";
import { PackageCount } from "./build-progress.ts";

describe("the progress of a build", () => {
  const packages = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}/${index}`);
  const dependencies = new Map([
    ["cmd/a", packages("shared", 500)],
    ["cmd/b", [...packages("shared", 500), ...packages("own", 200)]],
  ]);

  it("counts shared packages once and those from the cache when their program is linked", () => {
    const count = new PackageCount(dependencies);
    expect(count.percent).toBe(0);
    for (const name of packages("shared", 250)) count.compiled(name);
    expect(count.percent).toBe(25);
    count.linked("cmd/a");
    expect(count.percent).toBe(65);
  });

  it("is never complete before the programs are in place", () => {
    const count = new PackageCount(dependencies);
    count.linked("cmd/a");
    count.linked("cmd/b");
    expect(count.percent).toBe(99);
  });
});
