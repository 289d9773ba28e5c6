/** A place that a build can't write to, in one sentence: what is wrong, where, and what names another place. */

import { BuildError } from "./toolchain.ts";

export interface Place {
  readonly parent: string;
  /** What lets the user choose another place, such as `TMPDIR`. */
  readonly elsewhere?: string;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  EACCES: "permission is denied",
  ENOTDIR: "it is not a folder",
};
const REASONS_OF_FOLDERS: Readonly<Record<string, string>> = { ENOENT: "it does not exist", EEXIST: "it is a file" };

/** How other programs say it. `Wrote only 512 of 10240 bytes` is tar's way. */
const FULL = /No space left on device|ENOSPC|: Wrote only \d+ of \d+ bytes/;
const QUOTA = /Disk quota exceeded|EDQUOT/;

export const saysFull = (text: string): boolean => FULL.test(text) || QUOTA.test(text);

class Unwritable extends BuildError {}

/** Throws a BuildError for a place that `work` can't write to. */
export async function sayingWhere<T>({ parent, elsewhere }: Place, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const reason = cause instanceof Unwritable ? undefined : reasonOf(cause as NodeJS.ErrnoException);
    if (reason === undefined) throw cause;
    const advice = elsewhere === undefined ? "" : ` (${elsewhere} names another place)`;
    throw new Unwritable(`Nothing can be written to ${parent}: ${reason}${advice}.`, { cause });
  }
}

function reasonOf({ code = "", syscall, message }: NodeJS.ErrnoException): string | undefined {
  const makesFolder = syscall === "mkdir" || syscall === "mkdtemp";
  const said = FULL.test(message) ? "ENOSPC" : QUOTA.test(message) ? "EDQUOT" : "";
  return REASONS[code] ?? (makesFolder ? REASONS_OF_FOLDERS[code] : undefined) ?? REASONS[said];
}
