import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BridgeSelection,
  EVERY_BRIDGE,
  planCapacity,
  skipReason,
} from "../../src/bridge-marker/bridge-resources.ts";
import { share } from "../support/share.ts";
import { linkName } from "./link-names.ts";

const key = (name: string): string => `bridge.network.kubevirt.io/${name}`;
const reasonOf = (name: string, selection: Partial<BridgeSelection> = {}, hasPorts = true) =>
  skipReason({ name, hasPorts }, { ...EVERY_BRIDGE, ...selection });

/** Kubernetes' IsQualifiedName of what follows the slash: alphanumeric at both ends, `-_.` between, at most 63. */
function isQualified(name: string): boolean {
  const isAlphanumeric = (one = ""): boolean =>
    (one >= "a" && one <= "z") || (one >= "A" && one <= "Z") || (one >= "0" && one <= "9");
  const all = [...name];
  const inside = all.every((one) => isAlphanumeric(one) || ["-", "_", "."].includes(one));
  return all.length > 0 && all.length <= 63 && inside && isAlphanumeric(all[0]) && isAlphanumeric(all.at(-1));
}

describe("a bridge's name", () => {
  it("is published exactly if the API server takes it in a resource, whatever the kernel allows", () => {
    fc.assert(
      fc.property(linkName, (name) => {
        expect(reasonOf(name)).toBe(isQualified(name) ? undefined : "illegal-name");
      }),
      { numRuns: share(2_000) },
    );
  });

  it.each([
    ["br1", undefined],
    ["BR1", undefined],
    ["br-ex.100", undefined],
    ["abcdefghijklmno", undefined],
    ["br_", "illegal-name"],
    ["-br", "illegal-name"],
    ["br~1", "illegal-name"],
    ["br@1", "illegal-name"],
    ["brücke", "illegal-name"],
    ["桥", "illegal-name"],
  ])("%s is published: %j", (name, reason) => {
    expect(reasonOf(name)).toBe(reason);
  });
});

describe("patterns", () => {
  it.each([
    ["br1", { include: ["br*"] }, undefined],
    ["docker0", { include: ["br*"] }, "excluded"],
    ["xbr1", { include: ["br*"] }, "excluded"],
    ["br10", { include: ["br?"] }, "excluded"],
    ["br10", { include: ["br??"] }, undefined],
    ["virbr0", { exclude: ["docker*", "virbr*"] }, "excluded"],
    ["br1", { include: ["br*"], exclude: ["br1"] }, "excluded"],
    ["br.1", { exclude: ["br.1"] }, "excluded"],
    ["brx1", { exclude: ["br.1"] }, undefined],
    ["brücke", { exclude: ["br?cke"] }, "excluded"],
    ["br~1", { exclude: ["*"] }, "excluded"],
  ])("of %s with %j: %j", (name, selection, reason) => {
    expect(reasonOf(name, selection)).toBe(reason);
  });

  it("match as a whole by wildcards, also when they backtrack", () => {
    const pattern = fc.string({ unit: fc.constantFrom(..."ab.*?"), minLength: 1, maxLength: 32 });
    const name = fc.string({ unit: fc.constantFrom(..."ab."), minLength: 1, maxLength: 15 });
    fc.assert(
      fc.property(name, pattern, (text, one) => {
        expect(reasonOf(text, { exclude: [one] }) === "excluded").toBe(fits(text, one));
      }),
    );
  });

  /** By the definition: a star takes nothing, or one character and goes on. */
  function fits(text: string, pattern: string): boolean {
    const known = new Map<string, boolean>();
    const from = (at: number, of: number): boolean => {
      const key = `${at} ${of}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const one = pattern[of];
      let answer: boolean;
      if (one === undefined) answer = at === text.length;
      else if (one === "*") answer = from(at, of + 1) || (at < text.length && from(at + 1, of));
      else answer = at < text.length && (one === "?" || one === text[at]) && from(at + 1, of + 1);
      known.set(key, answer);
      return answer;
    };
    return from(0, 0);
  }
});

describe("bridges without ports", () => {
  it("are left out where that is asked for", () => {
    expect(reasonOf("br1", { onlyWithPorts: true }, false)).toBe("no-ports");
    expect(reasonOf("br1", { onlyWithPorts: true }, true)).toBeUndefined();
    expect(reasonOf("br1", {}, false)).toBeUndefined();
  });
});

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
