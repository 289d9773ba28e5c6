import { setImmediate as yieldToOthers } from "node:timers/promises";

/** Items that are written in one turn of the event loop: half a millisecond. */
const SLICE = 256;
const FIRST_BYTES = 16 * 1024;
/** Of a character of a string, in UTF-8. */
const MOST_BYTES = 3;

/** An answer whose lists may make each item when it is read. */
export type LazyLists<A> = { readonly [K in keyof A]: A[K] extends readonly (infer T)[] ? Iterable<T> : A[K] };

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

/** Whose close says that nobody reads any more. */
export interface Reading {
  readonly closed: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** The bytes of an answer, given back when nobody reads them and nobody else will. */
export class WrittenAnswer {
  readonly tag: string;
  readonly #bytes: Promise<Buffer<ArrayBuffer>>;
  #readers = 0;
  #isOver = false;
  #isReleased = false;

  constructor(tag: string, bytes: Promise<Buffer<ArrayBuffer>>) {
    this.tag = tag;
    this.#bytes = bytes;
  }

  /** The bytes are good until the response is closed. Throws what writing them threw. */
  async readBy(response: Reading): Promise<Buffer<ArrayBuffer>> {
    this.#readers += 1;
    const bytes = await this.#bytes;
    const leave = (): void => {
      this.#readers -= 1;
      this.#releaseUnread(bytes);
    };
    if (response.closed) leave();
    else response.once("close", leave);
    return bytes;
  }

  /** Nobody else will read it. */
  end(): void {
    this.#isOver = true;
    void this.#bytes.then((bytes) => this.#releaseUnread(bytes), ignore);
  }

  #releaseUnread(bytes: Buffer<ArrayBuffer>): void {
    if (!this.#isOver || this.#readers > 0 || this.#isReleased) return;
    this.#isReleased = true;
    release(bytes);
  }
}

function ignore(): void {}
