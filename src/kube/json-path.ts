/**
 * Reads objects whose schema is not ours. Every accessor takes any value and never throws: a malformed object must end in
 * a sentence and not in a crash.
 */

export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (let step = 0; step < path.length; step++) {
    current = fieldOf(current, path[step] ?? "");
    if (current === undefined) return undefined;
  }
  return current;
}

/** One field of an object, as `at` reads it. What an object inherits is functions, which JSON has none of. */
export function fieldOf(value: unknown, key: string): unknown {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === "function" ? undefined : found;
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

/** Undefined for what is no JSON, and for JSON that is no object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
