import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonOf, release } from "../../../src/mac-pool/inspection/json-of.ts";

it("writes what JSON.stringify writes, also of items that are made when they are asked for", () => {
  const answer = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.constant(undefined)));
  const run = (one: Record<string, unknown>, items: readonly unknown[]): void => {
    expect(jsonOf(one).toString()).toBe(JSON.stringify(one));
    const made = items.values().map((item) => ({ item }));
    const whole = items.map((item) => ({ item }));
    expect(jsonOf({ made, total: items.length }).toString()).toBe(JSON.stringify({ made: whole, total: items.length }));
  };
  fc.assert(fc.property(answer, fc.array(fc.oneof(fc.string({ maxLength: 20_000 }), fc.jsonValue())), run));
});

it("gives the memory of an answer back", () => {
  const bytes = jsonOf({ total: 0 });
  expect(bytes.buffer.byteLength).toBe(bytes.length);
  release(bytes);
  expect([bytes.length, bytes.buffer.detached]).toEqual([0, true]);
});
