import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withUnchangedParts } from "../../../src/kube/informer/unchanged-parts.ts";

const parse = (text: string) => JSON.parse(text);

describe("unchanged parts of an object", () => {
  it("are those of the old one", () => {
    const old = parse(
      '{"metadata": {"name": "a", "labels": {"x": "1"}, "resourceVersion": "1"}, "spec": {"list": [{"a": 1}, 2]}}',
    );
    const next = parse(
      '{"metadata": {"name": "a", "labels": {"x": "1"}, "resourceVersion": "2"}, "spec": {"list": [{"a": 1}, 2]}}',
    );
    const result = withUnchangedParts(old, next);
    expect(result).toBe(next);
    expect(result.spec).toBe(old.spec);
    expect(result.metadata).not.toBe(old.metadata);
    expect(result.metadata.labels).toBe(old.metadata.labels);
    expect(old.metadata.resourceVersion).toBe("1");
  });

  it("never change what an object says, nor the old one", () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), fc.string(), (one, other, key) => {
        for (const [before, after] of [
          [one, other],
          [`{"same": ${one}, ${JSON.stringify(key)}: 1}`, `{"same": ${one}, ${JSON.stringify(key)}: ${other}}`],
          [`[${one}, ${other}, 1]`, `[${one}, ${one}, 1, 2]`],
          [`{"a": -0, "b": ${one}}`, `{"b": ${one}, "a": 0}`],
        ] as const) {
          const old = parse(before);
          const result = withUnchangedParts(old, parse(after));
          expect(JSON.stringify(result)).toBe(JSON.stringify(parse(after)));
          expect(JSON.stringify(old)).toBe(JSON.stringify(parse(before)));
        }
      }),
      { examples: [['{"__proto__": {"x": 1}}', '{"__proto__": {"x": 2}}', "__proto__"]] },
    );
  });

  it("are left alone where they are frozen, no JSON, or nested deeper than a stack bears", () => {
    const at = new Date(0);
    const frozen = Object.freeze({ at: new Date(0), list: Object.freeze([{ a: 1 }]) });
    const result = withUnchangedParts<object>({ at, list: [{ a: 1 }], other: 1 }, frozen);
    expect(result).toBe(frozen);
    expect(frozen.at).not.toBe(at);
    const nested = (leaf: number) => parse(`{"deep": ${"[".repeat(50_000)}${leaf}${"]".repeat(50_000)}}`);
    let leaf: unknown = withUnchangedParts(nested(1), nested(2)).deep;
    while (Array.isArray(leaf)) leaf = leaf[0];
    expect(leaf).toBe(2);
  });
});
