/** Deeper parts are taken as they come: what an API server accepts may be nested deeper than a stack bears. */
const DEEPEST = 32;

type Container = Record<string, unknown>;

/**
 * `next`, with every part that equals that of `old` replaced by it, or `old` itself where all is equal. Most of an object
 * stays as it is when it changes; kept in memory as it was, it is nothing new for the garbage collector. `next` is
 * changed and must be nobody else's yet; parts of it that are frozen or no JSON stay. The order of keys counts.
 */
export function withUnchangedParts<T>(old: T, next: T): T {
  return kept(old, next, 0) as T;
}

function kept(old: unknown, next: unknown, depth: number): unknown {
  if (!isContainer(old) || !isContainer(next)) return Object.is(old, next) ? old : next;
  if (depth > DEEPEST || Array.isArray(old) !== Array.isArray(next)) return next;
  const oldKeys = Object.keys(old);
  const keys = Object.keys(next);
  let equal = keys.length === oldKeys.length;
  for (const [i, key] of keys.entries()) {
    if (oldKeys[i] !== key) equal = false;
    if (!Object.hasOwn(old, key)) continue;
    const part = kept(old[key], next[key], depth + 1);
    if (Object.is(part, old[key])) Reflect.set(next, key, part);
    else equal = false;
  }
  return equal ? old : next;
}

function isContainer(value: unknown): value is Container {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype;
}
