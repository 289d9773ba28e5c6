/** Paths and queries that mean what they say: nothing encoded, no dots to resolve, no host. */
const PLAIN = /^((?:\/[\w-]+)+)(?:\?([\w=&.-]*))?$/;

/** The target of a request line. Throws URIError where its encoding is broken. */
export function parseTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const plain = PLAIN.exec(target);
  if (plain !== null) {
    return { path: plain[1] ?? "/", query: new URLSearchParams(plain[2] ?? "") };
  }
  const url = new URL(target, "http://localhost");
  return { path: decodeURIComponent(url.pathname), query: url.searchParams };
}
