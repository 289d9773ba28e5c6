import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../src/kube/log.ts";
import { Installer, shippedPlugins, type TargetState } from "../../src/linux-bridge/installer.ts";
import { runCommand } from "../cluster/command.ts";
import { pluginPath } from "../netns/cni-call.ts";

const INSTALL_ONCE = join(import.meta.dirname, "install-once.ts");
const NAMES = ["bridge", "cnv-bridge", "cnv-tuning", "tuning"];
const REPLACEMENTS = 4;
const USER = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
const PLUGINS = { bridge: "bridge, version two", tuning: "tuning, version two" };

let root: string;
let host: string;
let image: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "installer-faults-"));
  [host, image] = [join(root, "host"), join(root, "image")];
  await mkdir(host);
  await mkdir(image);
  for (const [name, content] of Object.entries(PLUGINS)) await writeFile(join(image, name), content);
});

afterEach(() => rm(root, { recursive: true }));

/** One start of the installer in a process of its own, after what `prefix` does. */
function installOnce(
  prefix: readonly string[] = [],
  leftoverAgeMs?: number,
): Promise<{ code: number; stdout: string }> {
  const [command = "", ...args] = [
    ...prefix,
    process.execPath,
    INSTALL_ONCE,
    host,
    image,
    ...(leftoverAgeMs === undefined ? [] : [String(leftoverAgeMs)]),
  ];
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
  return new Promise((resolve) => {
    execFile(command, args, { env }, (error, stdout) => resolve({ code: error === null ? 0 : 1, stdout }));
  });
}

/** With something mounted over the host's directory, which `script` then sees as `$0`. */
function mounted(script: string): string[] {
  return ["unshare", ...USER, "--mount", "sh", "-c", `${script} && exec "$@"`, host];
}

const statesOf = ({ stdout }: { stdout: string }): TargetState[] => JSON.parse(stdout);

/** Every file that a runtime could execute now, by name. */
async function visible(): Promise<Record<string, string>> {
  const names = (await readdir(host)).filter((name) => !name.startsWith("."));
  const entries = names.map(async (name) => [name, await readFile(join(host, name), "utf8")] as const);
  return Object.fromEntries(await Promise.all(entries));
}

const contentOf = (name: string): string => PLUGINS[name.endsWith("tuning") ? "tuning" : "bridge"];
const installed = Object.fromEntries(NAMES.map((name) => [name, contentOf(name)]));

describe("the installer", () => {
  it.each([
    ["fsync", [1, 4, 9, 12]],
    ["rename", [1, 2, 5, 8]],
    ["fchmod", [2, 7]],
  ])("that is killed at %s leaves whole files only, and the next one finishes", async (call, occurrences) => {
    for (const nth of occurrences) {
      await rm(host, { recursive: true });
      await mkdir(host);
      await writeFile(join(host, "cnv-bridge"), "v1.5.1");
      const inject = `inject=${call}:signal=KILL:when=${nth}`;
      const killed = await installOnce(["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject]);
      expect(killed.code, `${call} ${nth}`).toBe(1);
      for (const [name, content] of Object.entries(await visible())) {
        expect([contentOf(name), "v1.5.1"], `${name} at ${call} ${nth}`).toContain(content);
      }
      expect(statesOf(await installOnce([], 0)).map(({ state }) => state)).toEqual(NAMES.map(() => "installed"));
      expect(await visible()).toEqual(installed);
      expect((await readdir(host)).filter((name) => name.endsWith("-tmp"))).toEqual([]);
    }
  });

  it("on a full disk keeps what is there, says so, and leaves nothing half written", async () => {
    await writeFile(join(image, "bridge"), Buffer.alloc(200_000, "b"));
    const script = `mount -t tmpfs -o size=100k tmpfs "$0" && echo v1.5.1 > "$0/cnv-bridge"`;
    const report = `"$@"; cat "$0/cnv-bridge"; ls -A "$0"`;
    const { stdout } = await installOnce(["unshare", ...USER, "--mount", "sh", "-c", `${script} && ${report}`, host]);
    const [states = "", kept, ...files] = stdout.trim().split("\n");
    expect(kept).toBe("v1.5.1");
    expect(files).toEqual([".cluster-network-addons.json", "cnv-bridge", "cnv-tuning", "tuning"]);
    const failed = (JSON.parse(states) as TargetState[]).filter(({ state }) => state === "failed");
    expect(failed.map(({ name }) => name)).toEqual(["cnv-bridge", "bridge"]);
    expect(failed[0]?.detail).toContain("is full: free space on the node");
  });

  it("in a read-only directory says what to set", async () => {
    const states = statesOf(await installOnce(mounted(`mount -t tmpfs -o ro tmpfs "$0"`)));
    expect(states.map(({ state }) => state)).toEqual(NAMES.map(() => "failed"));
    expect(states[0]?.detail).toContain("read-only file system: set linuxBridge.cniBinDir");
  });

  it("that a security module forbids to rename says so and leaves nothing half written", async () => {
    const refused = await installOnce(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=rename:error=EPERM"]);
    expect(statesOf(refused)[0]?.detail).toContain("must not be written by this process");
    expect(await readdir(host)).toEqual([]);
  });

  it("beside another one that starts at the same time ends with whole files", async () => {
    for (const states of (await Promise.all([installOnce(), installOnce()])).map(statesOf)) {
      expect(states.filter(({ state }) => state === "failed").map(({ detail }) => detail)).toEqual([]);
    }
    expect(await visible()).toEqual(installed);
  });

  it("takes over what the earlier installer left: links in either direction", async () => {
    await writeFile(join(host, "cnv-bridge"), "v1.5.1");
    await symlink("cnv-bridge", join(host, "bridge"));
    await writeFile(join(host, "tuning"), "the distribution's");
    await symlink("tuning", join(host, "cnv-tuning"));
    const states = statesOf(await installOnce());
    expect(states.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "cnv-bridge installed",
      "bridge installed",
      "cnv-tuning installed",
      "tuning foreign",
    ]);
    expect(await visible()).toEqual({ ...installed, tuning: "the distribution's" });
  });

  it("never lets a plugin fail that is executed while it is replaced", async () => {
    await copyFile(await pluginPath("bridge"), join(image, "bridge"));
    const shipped = await readFile(join(image, "bridge"));
    const done = new AbortController();
    const outcomes: number[] = [];
    const execute = async (): Promise<void> => {
      while (!done.signal.aborted) {
        const { code } = await runCommand([join(host, "cnv-bridge")], { env: { CNI_COMMAND: "VERSION" }, stdin: "{}" });
        outcomes.push(code ?? -1);
      }
    };
    const replace = async (version: number): Promise<void> => {
      // What stands after the program does not change what it does, but makes it another version.
      await writeFile(join(image, "bridge"), Buffer.concat([shipped, Buffer.from(`version ${version}`)]));
      const plugins = await shippedPlugins(image, ["bridge"]);
      await new Installer({ directory: host, pluginDirectory: image, plugins, log: silentLog }).repair();
    };
    await replace(0);
    const executing = Promise.all([execute(), execute()]);
    for (let version = 1; version <= REPLACEMENTS; version++) await replace(version);
    done.abort();
    await executing;
    expect(outcomes.length).toBeGreaterThan(REPLACEMENTS);
    expect(outcomes.filter((code) => code !== 0)).toEqual([]);
  });
});
