import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { WatchDecoder } from "../../../src/kube/client/watch-decoder.ts";
import { share } from "../../support/share.ts";

const FIELDS = [{ manager: 'x"]}\\', fieldsV1: { 'k:{"a":"]"}': { "f:é": {} } } }];

const events = fc.record({
  type: fc.constantFrom("ADDED", "MODIFIED", "BOOKMARK"),
  object: fc.record({
    metadata: fc.record(
      {
        labels: fc.dictionary(fc.string(), fc.string()),
        managedFields: fc.constantFrom(FIELDS, []),
        name: fc.string(),
      },
      { requiredKeys: [] },
    ),
    spec: fc.oneof(fc.jsonValue(), fc.constant({ metadata: { managedFields: FIELDS } })),
  }),
});

type Event = ReturnType<typeof events.generate>["value"];

const line = (event: object) => `${JSON.stringify(event)}\n`;

/** What comes of the text, cut into pieces of these lengths, up to the first error. */
function decode(text: string, pieces: readonly number[], managedFields = false) {
  const decoder = new WatchDecoder<KubeObject>("GET /x", managedFields);
  const bytes = Buffer.from(text);
  const decoded: unknown[] = [];
  let from = 0;
  for (let index = 0; from < bytes.length; index++) {
    const to = from + (pieces[index % pieces.length] ?? 1);
    const { events, error } = decoder.decode(bytes.subarray(from, to));
    decoded.push(...events);
    if (error !== undefined) {
      return { decoded, error };
    }
    from = to;
  }
  decoder.end();
  return { decoded, error: undefined };
}

const withoutManaged = ({ type, object }: Event) => {
  const { managedFields: _, ...metadata } = object.metadata;
  return { type, object: { ...object, metadata } };
};

describe("a watch that is taken apart as it comes", () => {
  test("gives every event, but managedFields, wherever it is cut into pieces", () => {
    const pieces = fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(events), pieces, fc.boolean(), (sent, lengths, managedFields) => {
        const { decoded, error } = decode(sent.map(line).join(""), lengths, managedFields);
        expect(error).toBeUndefined();
        const plain = JSON.parse(JSON.stringify(sent));
        expect(decoded).toEqual(managedFields ? plain : plain.map(withoutManaged));
      }),
      { numRuns: share(300) },
    );
  });

  const good = { type: "ADDED", object: { metadata: { name: "a" } } };

  test.each([
    ["no JSON", "<html>502 Bad Gateway</html>\n"],
    ["half an event, whose other half is in the next line", '{"type":"ADDED","list":[1\n2]}\n'],
    ["two events", `${JSON.stringify(good)},${JSON.stringify(good)}\n`],
    ["an event that ends in the managedFields of the next", '{"object":{"metadata":{"a":[\n"managedFields":[]]}}}\n'],
  ])("gives what came before a line that is %s, and an error", (_, bad) => {
    const { decoded, error } = decode(line(good) + bad + line(good), [10_000]);
    expect(decoded).toEqual([good]);
    expect(error).toMatchObject({ name: "ConnectionError", message: expect.stringContaining("GET /x: ") });
  });

  test("skips empty lines, and an end inside a line is an error", () => {
    expect(decode(`\n\n${line(good)}\n${line(good)}\n`, [3]).decoded).toEqual([good, good]);
    expect(() => decode(line(good) + line(good).slice(0, -1), [7])).toThrow("cut in the middle of an event");
  });
});
