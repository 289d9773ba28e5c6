/** One operation of a JSON Patch (RFC 6902) as the API server accepts it. */
export interface JsonPatchOp {
  readonly op: "add" | "replace" | "remove" | "test";
  readonly path: string;
  readonly value?: unknown;
}

/** A JSON Pointer (RFC 6901) to the given keys: `~` and `/` inside a key are escaped, numbers are array positions. */
export function jsonPointer(...segments: readonly (string | number)[]): string {
  return segments.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
