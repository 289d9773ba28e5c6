/** Keys that a plugin knows, and what it says of one that it does not. */

/** Those that every plugin may be given. */
export const PROTOCOL_KEYS = [
  ...["cniVersion", "name", "type", "args", "runtimeConfig", "capabilities", "prevResult", "dns", "ipam"],
  ...["disableCheck", "disableGC", "cni.dev/valid-attachments", "cni.dev/attachments"],
];

const KEY_CHARACTERS_SHOWN = 60;

/** As the plugin spells it: it takes any case. */
export function knownKey(key: string, known: readonly string[]): string | undefined {
  if (known.includes(key)) return key;
  const folded = key.toLowerCase();
  return known.find((candidate) => candidate.toLowerCase() === folded);
}

/** The warning about a key that is not among the known ones. `path`: of the object that it is in, with a dot at the end. */
export function unknownKey(key: string, path: string, known: readonly string[]): string {
  const nearest = nearestKey(key, known);
  const hint = nearest === undefined ? "" : `: did you mean "${nearest}"?`;
  return `unknown key "${path}${key.slice(0, KEY_CHARACTERS_SHOWN)}" is ignored${hint}`;
}

/** More differences than this are another word. */
const MAX_DISTANCE = 3;

/** The known key that an unknown one was probably meant to be. */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  const wanted = key.toLowerCase();
  let nearest: string | undefined;
  let least = Math.min(MAX_DISTANCE, Math.floor(key.length / 2)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase(), least);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Insertions, deletions and replacements that make one word the other; `limit` when it is that or more. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return Math.min(previous[b.length] ?? limit, limit);
}
