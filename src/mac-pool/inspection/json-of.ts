/** What is made into bytes at once. Parts of it, and no whole answer, are strings on the heap. */
const PART_CHARS = 16 * 1024;

/** An answer whose lists may make their items when they are asked for them. */
export type Told<A> = { readonly [K in keyof A]: A[K] extends readonly (infer T)[] ? Iterable<T> : A[K] };

/**
 * JSON of an answer. The items of its lists are made, written and forgotten one by one: none of them lives long enough to
 * reach the old generation of the heap, and what is collected there costs the most with many claims.
 */
export function jsonOf(answer: object): Buffer {
  const parts: Buffer[] = [];
  let text = "";
  const write = (piece: string): void => {
    text += piece;
    if (text.length < PART_CHARS) return;
    parts.push(Buffer.from(text));
    text = "";
  };
  let before = "{";
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    write(`${before}${JSON.stringify(name)}:`);
    before = ",";
    if (isList(value)) writeList(value, write);
    else write(JSON.stringify(value));
  }
  write(before === "{" ? "{}" : "}");
  return Buffer.concat([...parts, Buffer.from(text)]);
}

function writeList(items: Iterable<unknown>, write: (piece: string) => void): void {
  let before = "[";
  for (const item of items) {
    write(before + JSON.stringify(item));
    before = ",";
  }
  write(before === "[" ? "[]" : "]");
}

const isList = (value: unknown): value is Iterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.iterator in value;
