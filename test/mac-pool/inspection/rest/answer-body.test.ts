import { EventEmitter } from "node:events";
import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonOf, release, WrittenAnswer } from "../../../../src/mac-pool/inspection/rest/answer-body.ts";
import { TtlCache } from "../../../../src/mac-pool/inspection/rest/ttl-cache.ts";

class Response extends EventEmitter {
  closed = false;

  close(): void {
    this.closed = true;
    this.emit("close");
  }
}

/** A timer that ends when `pass` is called. */
function fixture() {
  let end = (): void => {};
  const after = (_ms: number, callback: () => void): (() => void) => {
    end = callback;
    return () => {};
  };
  const onDrop = (answer: WrittenAnswer): void => answer.end();
  return { shared: new TtlCache<WrittenAnswer>({ after }, { ttlMs: 1_000, max: 1, onDrop }), pass: () => end() };
}

const written = (text = "{}"): WrittenAnswer =>
  new WrittenAnswer('"tag"', Promise.resolve(Buffer.from(new TextEncoder().encode(text).buffer)));

/** The memory of an answer that was given back has no bytes. */
const isReleased = ({ buffer }: Buffer<ArrayBuffer>): boolean => buffer.byteLength === 0;

it("gives an answer back when its time is over and its last reader has gone, in either order", async () => {
  const { shared, pass } = fixture();
  const answer = written();
  shared.add("map", answer);
  expect(shared.find("map")).toBe(answer);
  const [first, second] = [new Response(), new Response()];
  const bytes = await answer.readBy(first);
  expect(await answer.readBy(second)).toBe(bytes);
  first.close();
  pass();
  expect(shared.find("map")).toBeUndefined();
  await Promise.resolve();
  expect(isReleased(bytes)).toBe(false);
  second.close();
  expect(isReleased(bytes)).toBe(true);

  const unread = written();
  shared.add("map", unread);
  const reader = new Response();
  const read = await unread.readBy(reader);
  reader.close();
  expect(isReleased(read)).toBe(false);
  pass();
  await expect.poll(() => isReleased(read)).toBe(true);
});

it("gives an answer back whose reader was gone before it was written", async () => {
  const answer = written();
  const gone = new Response();
  gone.closed = true;
  const bytes = await answer.readBy(gone);
  answer.end();
  await expect.poll(() => isReleased(bytes)).toBe(true);
});

it("throws to each reader what writing it threw", async () => {
  const answer = new WrittenAnswer('"tag"', Promise.reject(new Error("torn")));
  await expect(answer.readBy(new Response())).rejects.toThrow("torn");
  answer.end();
});

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
