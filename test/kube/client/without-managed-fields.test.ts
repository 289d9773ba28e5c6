import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WatchDecoder } from "../../../src/kube/client/watch-decoder.ts";
import { withoutManagedFields } from "../../../src/kube/client/without-managed-fields.ts";

const ofEvent = (event: unknown): unknown =>
  new WatchDecoder("GET /x", false).decode(Buffer.from(`${JSON.stringify(event)}\n`)).events[0];
const ofList = (list: unknown): unknown =>
  JSON.parse(withoutManagedFields(Buffer.from(JSON.stringify(list))).toString());

const fields = [{ manager: 'x"]}', fieldsV1: { 'k:{"a":"]"}': { "f:b": {} }, "f:managedFields": {} } }];

describe("managedFields", () => {
  test.each([
    ["in front", { managedFields: fields, name: "a" }],
    ["in the middle", { name: "a", managedFields: fields, uid: "u" }],
    ["at the end", { name: "a", managedFields: fields }],
    ["alone", { managedFields: fields }],
    ["empty", { name: "a", managedFields: [], uid: "u" }],
    ["absent", { name: "a" }],
  ])("%s are cut out of metadata", (_, metadata) => {
    const { managedFields: _dropped, ...rest } = metadata as Record<string, unknown>;
    const event = { type: "ADDED", object: { kind: "K", metadata, spec: { a: [1] } } };
    expect(ofEvent(event)).toEqual({ ...event, object: { ...event.object, metadata: rest } });
    const list = { items: [event.object, event.object], metadata: { resourceVersion: "1" } };
    const item = { ...event.object, metadata: rest };
    expect(ofList(list)).toEqual({ ...list, items: [item, item] });
  });

  test("anywhere else stay: in the spec, in a template's metadata, in strings", () => {
    const object = {
      metadata: { annotations: { managedFields: '"metadata":{"managedFields":[1]}' }, name: 'a\\"' },
      managedFields: [1],
      spec: { managedFields: [1], metadata: { managedFields: [2] }, template: { metadata: { managedFields: [3] } } },
    };
    const event = { type: "ADDED", object };
    expect(ofEvent(event)).toEqual(event);
    expect(ofList({ items: [object] })).toEqual({ items: [object] });
  });

  test("what is no JSON is left as it is, and nothing throws", () => {
    for (const text of ['{"metadata":{"managedFields":[', '"', "", '{"object":{"metadata":{"managedFields":["a']) {
      expect(() => withoutManagedFields(Buffer.from(text))).not.toThrow();
    }
  });

  test("everything else of any object survives", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (rest, spec) => {
          const event = { type: "ADDED", object: { metadata: { ...rest, managedFields: fields, z: rest }, spec } };
          const { managedFields: _, ...metadata } = event.object.metadata as Record<string, unknown>;
          const expected = JSON.parse(JSON.stringify({ type: "ADDED", object: { metadata, spec } }));
          expect(ofEvent(event)).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});
