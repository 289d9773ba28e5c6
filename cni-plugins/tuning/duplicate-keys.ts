/** JSON.parse keeps the last of several members of one name; where that hides a mistake, the text itself is read. */

/** A name that stands twice in an object below one of `names` (in any case), wherever that is; undefined for none. */
export function duplicateKeyBelow(names: readonly string[], json: string): string | undefined {
  let at = 0;
  let found: string | undefined;

  /** `seen` collects the names of the object it is in. */
  function value(watched: boolean): void {
    skipSpace();
    if (json[at] === "{") members(watched);
    else if (json[at] === "[") elements();
    else if (json[at] === '"') text();
    else while (at < json.length && !",]} \t\r\n".includes(json[at] ?? "")) at++;
    skipSpace();
  }

  function members(watched: boolean): void {
    const seen: Record<string, true> = Object.create(null);
    at++;
    for (skipSpace(); at < json.length && json[at] !== "}"; skipSpace()) {
      const name = text();
      if (watched && seen[name]) found ??= name;
      seen[name] = true;
      skipSpace();
      at++;
      value(names.includes(name.toLowerCase()));
      if (json[at] === ",") at++;
    }
    at++;
  }

  function elements(): void {
    at++;
    for (skipSpace(); at < json.length && json[at] !== "]"; ) {
      value(false);
      if (json[at] === ",") at++;
    }
    at++;
  }

  function text(): string {
    const start = at++;
    while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
    at++;
    const parsed: unknown = JSON.parse(json.slice(start, at));
    return String(parsed);
  }

  function skipSpace(): void {
    while (at < json.length && " \t\r\n".includes(json[at] ?? "")) at++;
  }

  value(false);
  return found;
}
