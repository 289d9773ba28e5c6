import { setImmediate as yieldToOthers } from "node:timers/promises";

/** Items that are written in one turn of the event loop: half a millisecond. */
const SLICE = 256;
const FIRST_BYTES = 16 * 1024;
/** Of a character of a string, in UTF-8. */
const MOST_BYTES = 3;

/** An answer whose lists may make their items when they are asked for them. */
export type Told<A> = { readonly [K in keyof A]: A[K] extends readonly (infer T)[] ? Iterable<T> : A[K] };

/**
 * JSON of an answer, in memory of its own. The items of its lists are made, written and forgotten one by one: none of them
 * lives long enough to reach the old generation of the heap, and what is collected there costs the most with many claims. Between
 * slices of a long list admissions have their turn.
 */
export async function jsonOf(answer: object): Promise<Buffer<ArrayBuffer>> {
  let bytes = Buffer.from(new ArrayBuffer(FIRST_BYTES));
  let length = 0;
  const write = (piece: string): void => {
    const most = length + piece.length * MOST_BYTES;
    if (most > bytes.length) bytes = resized(bytes, Math.max(most, bytes.length * 2));
    length += bytes.write(piece, length);
  };
  let before = "{";
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    write(`${before}${JSON.stringify(name)}:`);
    before = ",";
    if (isList(value)) await writeList(value, write);
    else write(JSON.stringify(value));
  }
  write(before === "{" ? "{}" : "}");
  return resized(bytes, length);
}

/**
 * Gives the memory of an answer back at once. It is outside of the heap, but V8 counts it, and marks the whole heap after each
 * 64 MB of it that no collection of the young generation has found.
 */
export function release({ buffer }: Buffer<ArrayBuffer>): void {
  buffer.transfer(0);
}

function resized({ buffer }: Buffer<ArrayBuffer>, length: number): Buffer<ArrayBuffer> {
  return Buffer.from(buffer.transfer(length));
}

async function writeList(items: Iterable<unknown>, write: (piece: string) => void): Promise<void> {
  let before = "[";
  let written = 0;
  for (const item of items) {
    if (++written % SLICE === 0) await yieldToOthers();
    write(before + JSON.stringify(item));
    before = ",";
  }
  write(before === "[" ? "[]" : "]");
}

const isList = (value: unknown): value is Iterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.iterator in value;
