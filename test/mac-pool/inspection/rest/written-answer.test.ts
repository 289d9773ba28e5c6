import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { SharedAnswers, WrittenAnswer } from "../../../../src/mac-pool/inspection/rest/written-answer.ts";

const FOR_MS = 1_000;

class Response extends EventEmitter {
  closed = false;

  close(): void {
    this.closed = true;
    this.emit("close");
  }
}

/** A timer that ends when `pass` is called. */
function bed() {
  let end = (): void => {};
  const after = (_ms: number, callback: () => void): (() => void) => {
    end = callback;
    return () => {};
  };
  return { shared: new SharedAnswers({ after }), pass: () => end() };
}

const written = (text = "{}"): WrittenAnswer =>
  new WrittenAnswer('"tag"', Promise.resolve(Buffer.from(new TextEncoder().encode(text).buffer)));

/** The memory of an answer that was given back has no bytes. */
const isReleased = ({ buffer }: Buffer<ArrayBuffer>): boolean => buffer.byteLength === 0;

it("gives an answer back when its time is over and its last reader has gone, in either order", async () => {
  const { shared, pass } = bed();
  const answer = written();
  expect(shared.add("map", answer, FOR_MS)).toBe(true);
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
  shared.add("map", unread, FOR_MS);
  const reader = new Response();
  const read = await unread.readBy(reader);
  reader.close();
  expect(isReleased(read)).toBe(false);
  pass();
  await expect.poll(() => isReleased(read)).toBe(true);
});

it("keeps neither a second answer to the same question nor one without a time", () => {
  const { shared } = bed();
  const first = written();
  expect(shared.add("map", first, FOR_MS)).toBe(true);
  expect(shared.add("map", written(), FOR_MS)).toBe(false);
  expect(shared.find("map")).toBe(first);
  expect(shared.add("list", written(), undefined)).toBe(false);
  expect(shared.find("list")).toBeUndefined();
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
