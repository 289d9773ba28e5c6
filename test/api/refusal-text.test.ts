import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeRefused, reasonKey } from "../../src/api/refusal-text.ts";

const refused = (name: string, code: string, more: object = {}) => ({
  ...{ code, kind: "VirtualMachine", namespace: "tenant-b", name },
  ...more,
});

describe("refusals in words", () => {
  it("count each object once, by kind", () => {
    const full = ["web", "web", "db"].map((name) => refused(name, "MACPOOL_FULL", { pool: "tenant-b" }));
    expect(describeRefused(full)).toBe("2 VMs: tenant-b is full");
    const pod = refused("web", "MACPOOL_FULL", { pool: "tenant-b", kind: "Pod" });
    expect(describeRefused([...full, pod])).toBe("2 VMs and 1 pod: tenant-b is full");
  });

  it("have one reason where they are about one address, pool or namespace", () => {
    const conflict = (name: string, mac: string) => reasonKey(refused(name, "MACPOOL_CONFLICT", { mac }));
    expect(conflict("a", "02:00:00:00:00:01")).toBe(conflict("b", "02:00:00:00:00:01"));
    expect(conflict("a", "02:00:00:00:00:01")).not.toBe(conflict("a", "02:00:00:00:00:02"));
    const limit = (namespace: string) => reasonKey(refused("a", "MACPOOL_NAMESPACE_LIMIT", { namespace }));
    expect(limit("one")).not.toBe(limit("two"));
  });

  it("say what is known where an older replica leaves the pool or the address out", () => {
    expect(describeRefused([refused("web", "MACPOOL_FULL")])).toBe("1 VM: the pool is full");
    expect(describeRefused([refused("web", "MACPOOL_HOST_ADDRESS")])).toMatch(/^1 VM: the address is the address of/);
    expect(describeRefused([refused("web", "MACPOOL_OF_TOMORROW")])).toBe("1 VM: MACPOOL_OF_TOMORROW");
  });

  it("have a text for each code", () => {
    const source = readFileSync(join(import.meta.dirname, "../../src/mac-pool/claims/refusals.ts"), "utf8");
    const union = /RefusalCode =([^;]+);/.exec(source)?.[1] ?? "";
    const codes = [...union.matchAll(/"(MACPOOL_\w+)"/g)].map(([, code]) => code ?? "");
    expect(codes.length).toBeGreaterThan(10);
    for (const code of codes) expect(describeRefused([refused("web", code)])).not.toContain("MACPOOL_");
  });
});
