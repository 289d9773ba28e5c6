/** Longer texts are not compared: nobody mistypes a name that long in one place. */
const MAX_CHARS = 64;
/** Names that are compared; a namespace can have thousands. */
const MAX_NAMES = 5_000;

/** The name that a mistyped text was probably meant to be, if there is one: at most a third of it is wrong. */
export function closestName(text: string, names: Iterable<string>): string | undefined {
  if (text.length > MAX_CHARS) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(text.length / 3)) + 1;
  let scanned = 0;
  for (const name of names) {
    if (++scanned > MAX_NAMES) break;
    if (name.length > MAX_CHARS || Math.abs(name.length - text.length) >= least) continue;
    const distance = editDistance(text, name);
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Levenshtein's: insertions, deletions and exchanges of one character. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const exchanged = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
