import { rename, rm } from "node:fs/promises";

/** A reader sees the old file or the new one, and a running executable is never written to. */
export async function replaceFile(file: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await write(temporary);
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}
