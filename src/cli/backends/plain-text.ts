/**
 * Names and messages that tenants write come to an administrator's terminal. What a terminal would obey, or what would
 * turn the order of a line around, is shown as U+FFFD.
 */

/** C0 and C1 controls, line and paragraph separators, and the marks of bidirectional text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function plainText(text: string): string {
  return text.replace(CONTROLS, (character) => (character === "\n" || character === "\t" ? " " : "\ufffd"));
}

/** The same value with plain texts, keys included. */
export function plain<T>(value: T): T {
  return made(value) as T;
}

function made(value: unknown): unknown {
  if (typeof value === "string") return plainText(value);
  if (Array.isArray(value)) return value.map(made);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [plainText(key), made(each)]));
}
