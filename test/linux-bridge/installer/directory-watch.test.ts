import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { passOnChange } from "../../../src/linux-bridge/installer/directory-watch.ts";
import { replaceFile } from "../../../src/linux-bridge/installer/replace-file.ts";

const MOUNTS = `21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:1 /opt/cni/bin DIRECTORY rw master:1 - ext4 /dev/sda1 rw
23 21 0:20 /netns /run/netns ro master:2 - tmpfs tmpfs rw
`;

let root: string;
let directory: string;
let passes: number;
let stop: AbortController;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "directory-watch-"));
  directory = join(root, "bin");
  await mkdir(directory);
  passes = 0;
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await rm(root, { recursive: true });
});

function watching(pass: () => Promise<void>, more: { mountInfo?: string } = {}): Promise<void> {
  const counted = async (): Promise<void> => {
    await pass();
    passes++;
  };
  return passOnChange(
    { directory, otherDirectories: ["/run/netns"], clock: systemClock, log: silentLog, ...more },
    counted,
    stop.signal,
  );
}

const made = (count: number): Promise<void> =>
  vi.waitFor(() => expect(passes).toBeGreaterThanOrEqual(count), { timeout: 10_000 });

describe("the watch of a directory", () => {
  it("calls for no pass because of what a pass that failed wrote and took away", async () => {
    await mkdir(join(directory, "cnv-bridge"));
    const source = join(root, "source");
    await writeFile(source, "new");
    const sha256 = createHash("sha256").update("new").digest("hex");
    const running = watching(async () => {
      const copied = replaceFile(join(directory, "cnv-bridge"), source, sha256, 0o755);
      await expect(copied).rejects.toThrow("EISDIR");
    });
    for (const [index, name] of ["one", "two", "three"].entries()) {
      await made(index + 1);
      await mkdir(join(directory, name));
    }
    await made(4);
    stop.abort();
    await running;
    expect(passes).toBe(4);
  });

  it("ends when the directory was removed, which a mount of it would hide", async () => {
    const running = watching(async () => undefined);
    const ended = expect(running).rejects.toThrow(/removed|no such file/);
    await made(1);
    await rm(directory, { recursive: true });
    await ended;
  });

  it.each([
    ["the directory was renamed", "/opt/cni/bin DIRECTORY", "/opt/cni/bin.old DIRECTORY", /bin was removed or renamed/],
    ["the directory was removed", "/opt/cni/bin DIRECTORY", "/opt/cni/bin//deleted DIRECTORY", /bin was removed or/],
    ["another one was removed", "/netns /run/netns", "/netns//deleted /run/netns", /^\/run\/netns was removed or/],
    ["another file system came over it", "0:20 /netns /run/netns", "0:31 / /run/netns", /^\/run\/netns was removed or/],
  ])("ends when its mount says that %s on the node", async (_, before, after, message) => {
    const mountInfo = join(root, "mountinfo");
    const write = (text: string): Promise<void> => writeFile(mountInfo, text.replace("DIRECTORY", directory));
    await write(MOUNTS);
    const running = watching(async () => undefined, { mountInfo });
    const ended = expect(running).rejects.toThrow(message);
    await made(1);
    await write(MOUNTS.replace(before, after));
    await mkdir(join(directory, "other"));
    await ended;
  });

  it("goes on where the list of mounts, read while mounts come and go, lacks one", async () => {
    const mountInfo = join(root, "mountinfo");
    const write = (text: string): Promise<void> => writeFile(mountInfo, text.replace("DIRECTORY", directory));
    await write(MOUNTS);
    const running = watching(async () => undefined, { mountInfo });
    await made(1);
    await write(MOUNTS.slice(0, MOUNTS.indexOf("\n")));
    await mkdir(join(directory, "other"));
    await made(2);
    stop.abort();
    await expect(running).resolves.toBeUndefined();
  });
});
