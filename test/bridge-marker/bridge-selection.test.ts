import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BridgeSelection, EVERY_BRIDGE, skipReason } from "../../src/bridge-marker/bridge-selection.ts";
import { linkName } from "./link-names.ts";

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
      { numRuns: 2000 },
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
