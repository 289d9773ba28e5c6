/** Files as an image holds them. Owners are root, and no file has a time of its own. */

export type Entry =
  | { readonly kind: "file"; readonly mode: number; readonly content: Buffer }
  | { readonly kind: "directory"; readonly mode: number }
  | { readonly kind: "link"; readonly target: string };

/** By path, without a slash at either end. Folders that only hold others need not be named. */
export type Tree = ReadonlyMap<string, Entry>;

export const file = (content: string | Buffer, mode = 0o644): Entry => ({
  kind: "file",
  mode,
  content: typeof content === "string" ? Buffer.from(content) : content,
});
