import { createHash } from "node:crypto";
import { mkdtemp, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KnownContents } from "../../../src/linux-bridge/installer/host-file.ts";
import { eventually } from "../../support/eventually.ts";

const LATER_MS = 60_000;

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("contents of files that are looked at again and again", () => {
  let directory: string;
  let file: string;
  let contents: KnownContents;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "host-file-"));
    file = join(directory, "bridge");
    contents = new KnownContents();
    await writeFile(file, "one");
    vi.spyOn(Date, "now").mockReturnValue((await stat(file)).ctimeMs + LATER_MS);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(directory, { recursive: true });
  });

  const sha256 = async (): Promise<string | undefined> => (await contents.of(file))?.sha256;

  it("are not read again while nothing of a file changes", async () => {
    expect(await sha256()).toBe(sha256Of("one"));
    const known = await contents.of(file);
    expect(await contents.of(file)).toBe(known);
  });

  it("are read again when a file of the same size, with the old dates, is there", async () => {
    await sha256();
    const { atime: read, mtime, ctimeMs } = await stat(file);
    await eventually("another tick of the file system", async () => {
      await writeFile(file, "two");
      await utimes(file, read, mtime);
      return (await stat(file)).ctimeMs !== ctimeMs;
    });
    expect(await sha256()).toBe(sha256Of("two"));

    await writeFile(join(directory, "new"), "six");
    await utimes(join(directory, "new"), read, mtime);
    await rename(join(directory, "new"), file);
    expect(await sha256()).toBe(sha256Of("six"));
  });

  it("are read each time while a file is so new that another write would not show", async () => {
    vi.spyOn(Date, "now").mockReturnValue((await stat(file)).ctimeMs + 1);
    const first = await contents.of(file);
    expect(await contents.of(file)).not.toBe(first);
    expect(await contents.of(file)).toEqual(first);
  });

  it("are none of a file that is gone", async () => {
    await sha256();
    await rm(file);
    expect(await contents.of(file)).toBeUndefined();
  });
});
