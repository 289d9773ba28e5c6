/** Seconds whose text is kept: those of now, and of the deadlines and rests that are counted from it. */
const MAX_KEPT = 16;

const texts = new Map<number, string>();

/**
 * RFC 3339 in UTC with milliseconds, as Date has it. A claim has two times and admission makes many claims in one second,
 * so the text of a second is kept.
 */
export function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  let text = texts.get(second);
  if (text === undefined) {
    if (texts.size >= MAX_KEPT) texts.clear();
    text = new Date(second * 1000).toISOString().slice(0, -"000Z".length);
    texts.set(second, text);
  }
  return `${text}${String(Math.floor(ms - second * 1000)).padStart(3, "0")}Z`;
}
