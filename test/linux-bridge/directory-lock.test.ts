import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withDirectoryLock } from "../../src/linux-bridge/directory-lock.ts";

const OTHERS = 20;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "directory-lock-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Holds the lock until the function is called. */
async function held(): Promise<() => Promise<void>> {
  const [taken, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = withDirectoryLock(directory, () => {
    taken.resolve();
    return released.promise;
  });
  await taken.promise;
  return () => {
    released.resolve();
    return holding;
  };
}

describe("the lock of a directory", () => {
  it("lets one in at a time, and all of them in", async () => {
    let inside = 0;
    const seen: number[] = [];
    const one = (): Promise<void> =>
      withDirectoryLock(directory, async () => {
        seen.push(++inside);
        await turn();
        inside--;
      });
    await Promise.all(Array.from({ length: OTHERS }, one));
    expect(seen).toEqual(Array.from({ length: OTHERS }, () => 1));
  });

  it("is given back when what it was taken for fails, whose error is passed on", async () => {
    await expect(withDirectoryLock(directory, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await (await held())();
  });

  it("is not waited for any longer than that: then it goes without", async () => {
    const release = await held();
    expect(await withDirectoryLock(directory, async () => "done", 1)).toBe("done");
    await release();
  });

  it("of a directory that is not there is none", async () => {
    await rm(directory, { recursive: true });
    expect(await withDirectoryLock(directory, async () => "done")).toBe("done");
  });
});
