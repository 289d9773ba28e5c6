/** Bytes that shape JSON. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const BACKSLASH = 0x5c;

/** Position of the closing quote of the string that opens at `at`. */
export function endOfString(json: Buffer, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== QUOTE) {
    end += json[end] === BACKSLASH ? 2 : 1;
  }
  return end;
}
