const ELLIPSIS = "...";

/**
 * At most so many characters of a text that strangers write, for what is kept, logged or told. Always a copy: a part of a
 * text keeps all of it in memory, and the text may be a part of a request.
 */
export function shortText(text: string, maxChars: number): string {
  const short = text.length <= maxChars ? text : `${text.slice(0, maxChars - ELLIPSIS.length)}${ELLIPSIS}`;
  return Buffer.from(short).toString();
}
