/** Paths and queries that mean what they say: nothing encoded, no dots to resolve, no host. */
const PLAIN = /^((?:\/[\w-]+)+)(\?[\w=&.-]*)?$/;

export interface Target {
  /** Decoded path without the query. */
  readonly path: string;
  /** The query with its question mark, still encoded. */
  readonly search: string;
}

/** The target of a request line. Throws URIError where its encoding is broken. */
export function parseTarget(target: string): Target {
  const plain = PLAIN.exec(target);
  if (plain !== null) {
    return { path: plain[1] ?? "/", search: plain[2] ?? "" };
  }
  const url = new URL(target, "http://localhost");
  return { path: decodeURIComponent(url.pathname), search: url.search };
}
