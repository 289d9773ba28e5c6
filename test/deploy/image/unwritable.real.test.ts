import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRoot } from "../../cluster/requirements.ts";
import { BUILDER, type Ended } from "./built-image.ts";

const SMALL_IMAGE = path.join(import.meta.dirname, "write-image.ts");

let folder = "";
const at = (name: string): string => path.join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "unwritable-"));
  for (const name of ["bin", "tmp", "cache", "output"]) await mkdir(at(name));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Programs in the place of the machine's. They write more than there is room for. */
async function provide(tool: string, script: string): Promise<void> {
  await writeFile(at(`bin/${tool}`), `#!/bin/sh\n${script}\n`);
  await chmod(at(`bin/${tool}`), 0o755);
}
const DD = "exec dd if=/dev/zero of=package.deb bs=1M count=8";
const TAR = 'dd if=/dev/zero of="$TMPDIR/../bin/big" bs=1M count=8; tar -cf - -C "$TMPDIR/../bin" big | tar -xf -';

/** With a file system of 2 MB mounted over a folder. What is left in it is printed at the end. */
function onSmallDisk(place: string, command: readonly string[]): Promise<Ended> {
  const script = `mount -t tmpfs -o size=2m small ${at(place)}; "$@"; code=$?; find ${at(place)} -mindepth 1; exit $code`;
  const env = {
    ...process.env,
    ...{ TMPDIR: at("tmp"), XDG_CACHE_HOME: at("cache"), PATH: `${at("bin")}:${process.env.PATH}` },
  };
  const args = ["--mount", "sh", "-c", script, "sh", process.execPath, ...command];
  return new Promise((resolve) => {
    execFile("unshare", args, { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

describe.runIf(isRoot())("a build that can't write says in one sentence where, and leaves nothing there", () => {
  const build = [BUILDER, "--debian-mirror", "http://127.0.0.1:1"];

  it.each([DD, TAR])("for temporary files: %s", async (script) => {
    await provide("apt-get", script);
    expect(await onSmallDisk("tmp", [...build, "--output", at("output")])).toEqual({
      code: 1,
      stdout: "",
      stderr: `Nothing can be written to ${at("tmp")}: the disk is full (TMPDIR names another place).\n`,
    });
  });

  it("for downloads", async () => {
    await provide("apt-get", `case "$*" in *" download "*) ${DD} ;; esac`);
    const { code, stdout, stderr } = await onSmallDisk("cache", [...build, "--output", at("output")]);
    const inputs = at("cache/cluster-network-addons/image-inputs");
    expect(stderr).toBe(
      `Nothing can be written to ${inputs}: the disk is full (XDG_CACHE_HOME names another place).\n`,
    );
    expect(code).toBe(1);
    expect(stdout.trim().split("\n")).toEqual([path.dirname(inputs), inputs]);
  });

  it("for the archive", async () => {
    expect(await onSmallDisk("output", [SMALL_IMAGE, at("output")])).toEqual({
      code: 1,
      stdout: "",
      stderr: `Nothing can be written to ${at("output")}: the disk is full (--output names another place).\n`,
    });
  });

  it("for an output that is a file", async () => {
    await writeFile(at("file"), "");
    const { code, stderr } = await onSmallDisk("tmp", [SMALL_IMAGE, at("file")]);
    expect([code, stderr]).toEqual([
      1,
      `Nothing can be written to ${at("file")}: it is a file (--output names another place).\n`,
    ]);
  });
});
