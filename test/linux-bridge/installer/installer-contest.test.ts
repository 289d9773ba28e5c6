/** Two installers of ours in one directory. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatPluginMark } from "../../../src/api/plugin-mark.ts";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Installer, shippedPlugins } from "../../../src/linux-bridge/installer/installer.ts";

const ONE = `bridge, version one${formatPluginMark("bridge", "1.0.0")}`;
const TWO = `bridge, version two${formatPluginMark("bridge", "2.0.0")}`;
const NAMES = ["bridge", "cnv-bridge"];

let root: string;
let host: string;
let warned: string[];
let nowMs: number;

const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "installers-"));
  host = join(root, "host");
  await mkdir(host);
  warned = [];
  nowMs = 0;
});

afterEach(() => rm(root, { recursive: true }));

/** After its first pass. */
async function installerOf(content: string): Promise<Installer> {
  const pluginDirectory = await mkdtemp(join(root, "image-"));
  await writeFile(join(pluginDirectory, "bridge"), content);
  const log = { ...silentLog, warn: (_fields: object | string, message?: string) => warned.push(message ?? "") };
  const plugins = await shippedPlugins(pluginDirectory, ["bridge"]);
  const installer = new Installer({ directory: host, pluginDirectory, plugins, clock, log });
  await installer.repair();
  return installer;
}

const contents = (): Promise<string[]> => Promise.all(NAMES.map((name) => readFile(join(host, name), "utf8")));
const versions = (installer: Installer) => installer.states.map(({ version }) => version);

describe("two installers of ours", () => {
  it("leave the files of the other for a while, and the one that stays has the last word", async () => {
    const first = await installerOf(ONE);
    const second = await installerOf(TWO);
    expect(await contents()).toEqual([TWO, TWO]);
    await first.repair();
    expect([await contents(), versions(first)]).toEqual([
      [ONE, ONE],
      ["1.0.0", "1.0.0"],
    ]);
    await second.repair();
    expect([await contents(), versions(second)]).toEqual([
      [ONE, ONE],
      ["1.0.0", "1.0.0"],
    ]);
    expect(second.ready).toBe(true);
    nowMs += 30_000;
    await second.repair();
    expect([await contents(), versions(second)]).toEqual([
      [TWO, TWO],
      ["2.0.0", "2.0.0"],
    ]);
  });

  it("rest ever longer while the other is at work, say so, and count it", async () => {
    await installerOf(ONE);
    const installer = await installerOf(TWO);
    expect([await contents(), installer.contests, warned]).toEqual([[TWO, TWO], 0, []]);
    const replacedAfterS = async (): Promise<number> => {
      for (const name of NAMES) await writeFile(join(host, name), ONE);
      const fromMs = nowMs;
      while ((await contents())[0] === ONE) {
        nowMs += 10_000;
        await installer.repair();
      }
      return (nowMs - fromMs) / 1000;
    };
    const rests: number[] = [];
    for (let round = 0; round < 7; round++) rests.push(await replacedAfterS());
    expect(rests).toEqual([30, 60, 120, 240, 480, 600, 600]);
    expect(installer.contests).toBe(7);
    expect(warned[0]).toBe(
      `another installer puts its version of the plugins into ${host}: run one release only; this one rests for 60 s`,
    );
    expect(warned).toHaveLength(7);
    nowMs += 3_600_000;
    expect([await replacedAfterS(), await replacedAfterS(), installer.contests]).toEqual([10, 30, 8]);
  });
});
