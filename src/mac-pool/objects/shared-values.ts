/**
 * Values that come again and again in the objects of a cache, kept once: each parsed object brings its own copy of
 * `VirtualMachine`, of its namespace and of its network. Forgets everything when it is full, so what nobody keeps any
 * more is not kept here.
 */
export class SharedValues {
  readonly #texts = new Map<string, string>();
  readonly #objects = new Map<string, object>();

  /** An equal text that is kept already, or this one. Anything but a text comes back as it is. */
  text<T>(value: T): T {
    return typeof value === "string" ? (keptIn(this.#texts, value, value) as T & string) : value;
  }

  /** An equal object that is kept already, or this one. Whoever gets it may not change it. */
  object<T extends object>(value: T): T {
    return keptIn(this.#objects, JSON.stringify(value), value) as T;
  }
}

const MAX_KEPT = 20_000;

function keptIn<V>(kept: Map<string, V>, key: string, value: V): V {
  const known = kept.get(key);
  if (known !== undefined) return known;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(key, value);
  return value;
}
