import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ListDecoder } from "../../../src/kube/client/list-decoder.ts";
import { share } from "../../support/share.ts";

const FIELDS = [{ manager: 'm}],"name":"x', fieldsV1: { 'k:{"a":"]}"}': { "f:é": {} } }, list: [[], [{}]] }];

/** An object with what could be taken for the end of something, in strings, names and depth. */
const objects = fc.record({
  apiVersion: fc.constantFrom("v1", "example.com/v1"),
  metadata: fc.record(
    { labels: fc.dictionary(fc.string(), fc.string()), managedFields: fc.constantFrom(FIELDS, []), name: fc.string() },
    { requiredKeys: ["name"] },
  ),
  spec: fc.oneof(
    fc.jsonValue(),
    fc.constant({ metadata: { managedFields: FIELDS }, items: [{ metadata: { managedFields: FIELDS } }] }),
    fc.constant('"items":[{"metadata":{"managedFields":[{}]}}]'),
  ),
});
const around = fc.constantFrom(
  (items: unknown) => ({ apiVersion: "v1", items, kind: "List", metadata: { continue: "x", resourceVersion: "7" } }),
  (items: unknown) => ({ kind: "List", metadata: { resourceVersion: "7", continue: "x" }, apiVersion: "v1", items }),
  (items: unknown) => ({ metadata: { resourceVersion: "7", continue: "x", odd: { items: [1] } }, items, last: [{}] }),
);

function decode(json: string, pieces: readonly number[]) {
  const decoder = new ListDecoder<unknown>("GET /x");
  const bytes = Buffer.from(json);
  const items: unknown[] = [];
  let from = 0;
  for (let index = 0; from < bytes.length; index++) {
    const to = from + (pieces[index % pieces.length] ?? 1);
    items.push(...decoder.decode(bytes.subarray(from, to)));
    from = to;
  }
  const end = decoder.end();
  return { early: items.length, items: [...items, ...end.items], metadata: end.metadata };
}

describe("a list that is taken apart as it comes", () => {
  test("gives what parsing it at once gives, wherever it is cut into pieces", () => {
    fc.assert(
      fc.property(
        fc.array(objects, { maxLength: 5 }),
        fc.integer({ min: 1, max: 300 }),
        around,
        fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1 }),
        (few, times, list, pieces) => {
          const all = Array.from({ length: times }, () => few).flat();
          const json = JSON.stringify(list(all));
          const plain: { items: { metadata: object }[]; metadata: object } = JSON.parse(json);
          const { items, metadata } = decode(json, pieces);
          expect(items).toEqual(plain.items);
          expect(metadata).toEqual(plain.metadata);
        },
      ),
      { numRuns: share(60) },
    );
  });

  test("gives items before its end", () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({
      metadata: { name: `n${index}` },
      data: "x".repeat(100),
    }));
    const { early, items } = decode(JSON.stringify({ items: many, metadata: {} }), [16_384]);
    expect(early).toBeGreaterThan(3_000);
    expect(items).toEqual(many);
  });

  test("may be empty, have null for items, or be written with spaces", () => {
    const lists = [
      { items: [], metadata: { resourceVersion: "1" } },
      { items: null, metadata: {} },
    ];
    for (const list of lists) {
      expect(decode(JSON.stringify(list), [3])).toMatchObject({ items: [], metadata: list.metadata });
    }
    const object = { metadata: { name: "a" } };
    for (const text of [
      JSON.stringify({ items: [object, object] }, null, 2),
      '{"items":[ {"metadata":{"name":"a"}} ,\n{"metadata":{"name":"a"}} ] }',
    ]) {
      expect(decode(text, [5]).items).toEqual([object, object]);
    }
  });

  test("that is cut or is something else is a ConnectionError", () => {
    for (const text of [
      '{"items":[{"a":1},{"a":',
      '{"items":[{"a":1}',
      '{"items":[1,2]}',
      "",
      "<html>",
      '{"items":[{]}]}',
    ]) {
      expect(() => decode(text, [100]), text).toThrow(expect.objectContaining({ name: "ConnectionError" }));
    }
  });
});
