/**
 * Reading objects that somebody else's schema describes, or nobody's: every accessor takes whatever is there and never
 * throws, since a malformed object must end in a sentence and not in a crash.
 */

export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || Array.isArray(current)) return undefined;
    current = Object.hasOwn(current, key) ? (current as Record<string, unknown>)[key] : undefined;
  }
  return current;
}

/** Empty unless there is a text. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** Empty unless there is a list. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The entries of an object whose values are texts, as labels and annotations are. */
export function textsAt(value: unknown, ...path: readonly string[]): Readonly<Record<string, string>> {
  const found = at(value, ...path);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return {};
  return Object.fromEntries(
    Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
