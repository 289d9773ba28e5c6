/** JSON.parse keeps the last of several members of one name; where that hides a mistake, the text itself is read. */

/**
 * A name that stands twice in an object below `watchedName` (lower case; there in any case), wherever that is; undefined for
 * none. The text must be JSON.
 */
export function duplicateKeyBelow(watchedName: string, json: string): string | undefined {
  let at = 0;
  let found: string | undefined;

  function value(watched: boolean): void {
    skipSpace();
    if (json[at] === "{") members(watched);
    else if (json[at] === "[") elements();
    else if (json[at] === '"') text();
    else while (at < json.length && !",]} \t\r\n".includes(json[at] ?? "")) at++;
    skipSpace();
  }

  function members(watched: boolean): void {
    const seen = new Set<string>();
    at++;
    for (skipSpace(); at < json.length && json[at] !== "}"; skipSpace()) {
      const name = text();
      if (watched && seen.has(name)) found ??= name;
      seen.add(name);
      skipSpace();
      at++;
      value(name.toLowerCase() === watchedName);
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

  const folded = json.toLowerCase();
  if (json.includes("\\") || folded.length !== json.length) {
    value(false);
    return found;
  }
  // Without escapes, a text in quotes that a colon follows is a member's name, and nothing else needs to be read.
  const name = `"${watchedName}"`;
  for (let next = folded.indexOf(name); next >= 0; next = folded.indexOf(name, at)) {
    at = next + name.length;
    skipSpace();
    if (json[at++] === ":") value(true);
  }
  return found;
}
