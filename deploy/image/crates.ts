/** The crates of a Cargo.lock that come from a registry. */

import { readFile } from "node:fs/promises";

export interface Crate {
  readonly name: string;
  readonly version: string;
  /** SHA-256, in hex. */
  readonly checksum: string;
}

/** Platforms that no node of a cluster has. Cargo locks crates for them too. */
const FOREIGN = /^windows-/;

export async function lockedCrates(lockFile: string): Promise<Crate[]> {
  const text = await readFile(lockFile, "utf8");
  return text.split("[[package]]").flatMap((block) => {
    const field = (key: string): string | undefined => new RegExp(`^${key} = "(.*)"$`, "m").exec(block)?.[1];
    const [name, version, checksum] = [field("name"), field("version"), field("checksum")];
    if (name === undefined || version === undefined || checksum === undefined || FOREIGN.test(name)) return [];
    return [{ name, version, checksum }];
  });
}
