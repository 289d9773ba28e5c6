import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonOf, release } from "../../../../src/mac-pool/inspection/rest/json-of.ts";

it("writes what JSON.stringify writes, also of items that are made when they are asked for", async () => {
  const answer = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.constant(undefined)));
  const run = async (one: Record<string, unknown>, items: readonly unknown[]): Promise<void> => {
    expect((await jsonOf(one)).toString()).toBe(JSON.stringify(one));
    const made = items.values().map((item) => ({ item }));
    const whole = items.map((item) => ({ item }));
    const answered = await jsonOf({ made, total: items.length });
    expect(answered.toString()).toBe(JSON.stringify({ made: whole, total: items.length }));
  };
  const items = fc.array(fc.oneof(fc.string({ maxLength: 20_000 }), fc.jsonValue()));
  await fc.assert(fc.asyncProperty(answer, items, run));
});

it("lets others have their turn while it writes a long list", async () => {
  let turns = 0;
  const items = Array.from({ length: 4096 }, (_, number) => ({ number }));
  let isOver = false;
  const other = (): void => {
    turns += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  const answered = await jsonOf({ items });
  isOver = true;
  expect(JSON.parse(answered.toString())).toEqual({ items });
  expect(turns).toBeGreaterThan(8);
});

it("gives the memory of an answer back", async () => {
  const bytes = await jsonOf({ total: 0 });
  expect(bytes.buffer.byteLength).toBe(bytes.length);
  release(bytes);
  expect([bytes.length, bytes.buffer.detached]).toEqual([0, true]);
});
