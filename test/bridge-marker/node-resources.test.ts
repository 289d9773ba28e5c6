import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planCapacity } from "../../src/bridge-marker/node-resources.ts";

const key = (name: string): string => `bridge.network.kubevirt.io/${name}`;
const plan = (bridges: string[], capacity: Record<string, unknown>) =>
  planCapacity(new Set(bridges.map(key)), capacity);

describe("the node's bridge resources", () => {
  it("are 1k of each bridge, and nothing else is touched", () => {
    expect(plan(["br1"], { cpu: "4", "example.com/br1": "1" })).toEqual({ [key("br1")]: "1k" });
  });

  it("go with their bridge", () => {
    expect(plan([], { cpu: "4", [key("old")]: "1k" })).toEqual({ [key("old")]: null });
  });

  it("are repaired when somebody changed the amount", () => {
    expect(plan(["br1"], { [key("br1")]: "0" })).toEqual({ [key("br1")]: "1k" });
  });

  it("need no write when they are right, in either notation", () => {
    expect(plan(["br1", "br2"], { [key("br1")]: "1k", [key("br2")]: "1000" })).toBeUndefined();
  });

  it("are right after one merge patch, whatever was there", () => {
    const name = fc.constantFrom("a", "b", "c", "d");
    const capacity = fc.dictionary(
      fc.oneof(name.map(key), fc.constantFrom("cpu", "memory")),
      fc.constantFrom("0", "1k", "1000", "7"),
    );
    fc.assert(
      fc.property(fc.uniqueArray(name), capacity, (bridges, before) => {
        const after: Record<string, unknown> = { ...before };
        for (const [field, value] of Object.entries(plan(bridges, before) ?? {})) {
          if (value === null) delete after[field];
          else after[field] = value;
        }
        expect(plan(bridges, after)).toBeUndefined();
        const ours = Object.keys(after).filter((field) => field.startsWith(key("")));
        expect(ours.sort()).toEqual(bridges.map(key).sort());
        expect([after.cpu, after.memory]).toEqual([before.cpu, before.memory]);
      }),
    );
  });
});
