import fc from "fast-check";
import { expect, test } from "vitest";
import { parseTarget } from "../../../src/kube/http/request-target.ts";

const byUrl = (target: string) => {
  const url = new URL(target, "http://localhost");
  return { path: decodeURIComponent(url.pathname), query: [...url.searchParams] };
};

const tried = (read: () => { path: string; query: unknown }): unknown => {
  try {
    const { path, query } = read();
    return { path, query };
  } catch (error) {
    return (error as Error).name;
  }
};

test("a target is read as URL reads it, however it is written", () => {
  const piece = fc.constantFrom(
    "/",
    "mutate-pods",
    "a",
    "..",
    ".",
    "%2e",
    "%zz",
    "?",
    "=",
    "&",
    "+",
    "#",
    "//",
    "10s",
    "ä",
  );
  const target = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join("")}`);
  fc.assert(
    fc.property(target, (text) => {
      const ours = tried(() => {
        const { path, search } = parseTarget(text);
        return { path, query: [...new URLSearchParams(search)] };
      });
      expect(ours).toEqual(tried(() => byUrl(text)));
    }),
    { numRuns: 2_000 },
  );
});
