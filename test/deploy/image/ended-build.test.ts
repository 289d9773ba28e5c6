import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BUILDER } from "./built-image.ts";

let folder = "";
const at = (name: string): string => path.join(folder, name);
/** Where apt-get writes its process' number when it runs. */
const aptPid = (): number => Number(readFileSync(at("apt-pid"), "utf8"));

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "ended-build-"));
  for (const name of ["bin", "tmp", "cache", "output"]) await mkdir(at(name));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const HANGS = 'echo $$ > "$FOLDER/unfinished-pid" && mv "$FOLDER/unfinished-pid" "$FOLDER/apt-pid" && exec sleep 600';

async function startBuild(aptGet: string): Promise<ChildProcess> {
  await writeFile(at("bin/apt-get"), `#!/bin/sh\n${aptGet}\n`);
  await chmod(at("bin/apt-get"), 0o755);
  const env = {
    ...process.env,
    ...{ FOLDER: folder, TMPDIR: at("tmp"), XDG_CACHE_HOME: at("cache"), PATH: `${at("bin")}:${process.env.PATH}` },
  };
  return spawn(process.execPath, [BUILDER, "--output", at("output")], { env, stdio: "ignore" });
}

/** A build that waits for apt-get. */
async function waitingBuild(): Promise<ChildProcess> {
  const build = await startBuild(HANGS);
  await expect.poll(() => existsSync(at("apt-pid"))).toBe(true);
  return build;
}

const temporaries = (): string[] =>
  ["tmp", "output", "cache/cluster-network-addons/image-inputs"].flatMap((name) => readdirSync(at(name)));

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);

describe("a build", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("that %s ends leaves no folder and no program", async (signal) => {
    const build = await waitingBuild();
    expect(temporaries()).toHaveLength(2);
    build.kill(signal);
    expect(await once(build, "exit")).toEqual([null, signal]);
    expect(temporaries()).toEqual([]);
    await expect.poll(() => isRunning(aptPid())).toBe(false);
  });

  it("removes what a killed one left, and nothing of builds that run or of others", async () => {
    const killed = await waitingBuild();
    killed.kill("SIGKILL");
    await once(killed, "exit");
    process.kill(aptPid());
    const left = temporaries();
    expect(left).toHaveLength(2);
    await rm(at("apt-pid"));

    const running = await waitingBuild();
    try {
      const ofOthers = ["image-debian-of-somebody", "other"];
      for (const name of ofOthers) await mkdir(at(`tmp/${name}`));
      const ofRunning = temporaries().filter((name) => !left.includes(name) && !ofOthers.includes(name));
      expect(ofRunning).toHaveLength(2);

      const failing = await startBuild("exit 1");
      expect(await once(failing, "exit")).toEqual([1, null]);
      expect(temporaries().toSorted()).toEqual([...ofRunning, ...ofOthers].toSorted());
    } finally {
      running.kill();
      await once(running, "exit");
    }
  });
});
