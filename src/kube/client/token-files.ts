import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parse } from "yaml";

/** Paths of token files by the name of their user. client-node does not know `users[].user.tokenFile`. */
export type TokenFiles = ReadonlyMap<string, string>;

/** `text` is a kubeconfig that client-node has understood; paths in it are relative to `directory`. */
export function tokenFiles(text: string, directory: string): TokenFiles {
  const found = new Map<string, string>();
  const { users } = parse(text) as { users?: readonly { name: string; user?: { tokenFile?: string } | null }[] };
  for (const { name, user } of users ?? []) {
    if (user?.tokenFile) {
      found.set(name, resolve(directory, user.tokenFile));
    }
  }
  return found;
}

/** The header that a token file gives. It goes before `token`, as in client-go. */
export async function authorizationFrom(tokenFile: string): Promise<{ authorization: string }> {
  const token = (await readFile(tokenFile, "utf8")).trim();
  if (token === "") {
    throw new Error(`${tokenFile} is empty`);
  }
  return { authorization: `Bearer ${token}` };
}
