/** The installer beside other software that writes to the same name at the same time. */
import { execFile } from "node:child_process";
import { lstat, mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { formatPluginMark } from "../../../src/api/plugin-mark.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Installer, shippedPlugins } from "../../../src/linux-bridge/installer/installer.ts";

const OURS = `bridge, version two${formatPluginMark("bridge", "2.0.0")}`;
const EARLIER = `bridge, version one${formatPluginMark("bridge", "1.0.0")}`;
const FOREIGN = "somebody else's bridge";

let root: string;
let host: string;
let image: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "installer-race-"));
  [host, image] = [join(root, "host"), join(root, "image")];
  for (const directory of [host, image]) await mkdir(directory);
});

afterEach(() => rm(root, { recursive: true }));

const before: readonly (readonly [string, (path: string) => Promise<void>])[] = [
  ["nothing", async () => undefined],
  ["the predecessor's link", (path) => symlink(join(host, "cnv-bridge"), path)],
  ["its own earlier version", (path) => writeFile(path, EARLIER)],
];

describe("the installer", () => {
  it.each(before)("leaves a file alone that came while it was replacing %s", async (_, prepare) => {
    const plain = join(host, "bridge");
    await prepare(plain);
    const executable = join(image, "bridge");
    await writeFile(executable, OURS);
    const plugins = await shippedPlugins(image, ["bridge"]);
    // Whoever opens a pipe waits for its other end: the installer has looked at the name, and not written yet.
    await rm(executable);
    await promisify(execFile)("mkfifo", [executable]);
    const installer = new Installer({
      directory: host,
      pluginDirectory: image,
      plugins,
      clock: systemClock,
      log: silentLog,
    });
    const repaired = installer.repair();
    await writeFile(executable, OURS);
    await vi.waitFor(() => lstat(join(host, "cnv-bridge")));
    const pipe = await open(executable, "w");
    await rm(plain, { force: true });
    await writeFile(plain, FOREIGN);
    await pipe.writeFile(OURS);
    await pipe.close();
    await repaired;
    expect(await readFile(plain, "utf8")).toBe(FOREIGN);
    expect(installer.states.map(({ name, state }) => [name, state])).toEqual([
      ["cnv-bridge", "installed"],
      ["bridge", "foreign"],
    ]);
    expect((await readdir(host)).toSorted()).toEqual(["bridge", "cnv-bridge"]);
  });
});
