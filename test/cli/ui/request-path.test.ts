import fc from "fast-check";
import { expect, it } from "vitest";
import { upstreamPath } from "../../../src/cli/ui/local-proxy.ts";

const SECRET = "s3cret";

it.each([
  ["/s3cret/", "/"],
  ["/s3cret/app.js", "/app.js"],
  [
    "/s3cret/api/v1/claims/02%3A5d%3A1c%3A00%3A00%3Aa3?watch=true&x=%2F",
    "/api/v1/claims/02%3A5d%3A1c%3A00%3A00%3Aa3?watch=true&x=%2F",
  ],
  ["/s3cret/assets/", "/assets/"],
])("%s leads to %s", (url, path) => {
  expect(upstreamPath(url, SECRET)).toBe(path);
});

it.each([
  "/",
  "/s3cret",
  "/other/app.js",
  "/s3cret/../secrets",
  "/s3cret/a/../../secrets",
  "/s3cret/%2e%2e/secrets",
  "/s3cret/..%2fsecrets",
  "/s3cret/a%5c..%5csecrets",
  "/s3cret//evil.example/",
  "/s3cret/%252e%252e/secrets",
  "/s3cret/a%00b",
  "/s3cret/%zz",
  "/s3cret/a%3fwatch",
])("%s leads nowhere", (url) => {
  expect(upstreamPath(url, SECRET)).toBeUndefined();
});

it("stays below the proxy, whatever is asked", () => {
  const piece = fc.oneof(fc.string(), fc.constantFrom("..", ".", "/", "%2e", "%2f", "%5c", "\\", "?", "#", "%25"));
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const path = upstreamPath(`/${SECRET}/${pieces.join("")}`, SECRET);
      if (path === undefined) return;
      const base = "https://api.example/proxy";
      const { href, pathname } = new URL(base + path);
      expect(href.startsWith(`${base}/`)).toBe(true);
      expect(decodeURIComponent(pathname).split("/")).not.toContain("..");
    }),
  );
});
