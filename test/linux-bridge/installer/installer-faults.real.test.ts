import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { LINUX_BRIDGE_DAEMON_SET } from "../../../src/api/names.ts";
import { formatPluginMark } from "../../../src/api/plugin-mark.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Installer, shippedPlugins, type TargetState } from "../../../src/linux-bridge/installer/installer.ts";
import { buildPeers } from "../../bench/peers.ts";
import { type CommandResult, runCommand } from "../../cluster/command.ts";
import { pluginPath } from "../../netns/cni-call.ts";
import { STEP, share } from "../../support/share.ts";

const INSTALL_ONCE = join(import.meta.dirname, "install-once.ts");
const INSTALL_ON_CHANGE = join(import.meta.dirname, "install-on-change.ts");
const NAMES = ["bridge", "cnv-bridge", "cnv-tuning", "tuning"];
const REPLACEMENTS = 4;
const RACES = share(10);
const KILLED = 137;
/** How often a pass over all names makes each at the least: for each a file, and once its directory. */
const CALLS = [
  ["fsync", 8],
  ["rename", 4],
  ["fchmod", 4],
  ["write", 4],
] as const;
const EVERY_CALL = process.env.KILL_AT_EVERY_CALL === "1";
/** Nine of ten writes only wake a thread of the process. With KILL_AT_EVERY_CALL=1 each of them, else one in four. */
const STEPS: Readonly<Record<string, number>> = { write: EVERY_CALL ? 1 : 4 };
/** Between two calls that are tried. */
const stepOf = (call: string): number => (STEPS[call] ?? 1) * (EVERY_CALL ? 1 : STEP);
const USER = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
const pluginsOf = (version: string) => ({
  bridge: `bridge${formatPluginMark("bridge", version)}`,
  tuning: `tuning${formatPluginMark("tuning", version)}`,
});
const PLUGINS = pluginsOf("2.0.0");
const EARLIER = pluginsOf("1.0.0");
/** What the predecessor of this product installed. */
const PREDECESSOR = "v1.5.1";

let root: string;
let host: string;
let image: string;
let earlierImage: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "installer-faults-"));
  [host, image, earlierImage] = [join(root, "host"), join(root, "image"), join(root, "earlier")];
  for (const directory of [host, image, earlierImage]) await mkdir(directory);
  for (const [name, content] of Object.entries(PLUGINS)) await writeFile(join(image, name), content);
  for (const [name, content] of Object.entries(EARLIER)) await writeFile(join(earlierImage, name), content);
});

afterEach(() => rm(root, { recursive: true }));

/** One start of the installer in a process of its own, after what `prefix` does. */
function installOnce(prefix: readonly string[] = [], from = image): Promise<CommandResult> {
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
  return runCommand([...prefix, process.execPath, INSTALL_ONCE, host, from], { env });
}

/** One pass of an installer of these executables in this process, which takes everything half written for left over. */
async function repair(from: string, names: readonly string[] = Object.keys(PLUGINS)): Promise<readonly TargetState[]> {
  const plugins = await shippedPlugins(from, names);
  const installer = new Installer({
    directory: host,
    pluginDirectory: from,
    plugins,
    leftoverAgeMs: 0,
    clock: systemClock,
    log: silentLog,
  });
  await installer.repair();
  return installer.states;
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
const earlierOf = (name: string): string => EARLIER[name.endsWith("tuning") ? "tuning" : "bridge"];
const installed = Object.fromEntries(NAMES.map((name) => [name, contentOf(name)]));

describe("the installer", () => {
  it.each(CALLS)(
    "that is killed at any %s leaves whole files only, and the next one finishes",
    async (call, atLeast) => {
      await repair(earlierImage, ["tuning"]);
      await writeFile(join(host, "cnv-bridge"), PREDECESSOR);
      const before = await visible();
      const template = join(root, "template");
      await cp(host, template, { recursive: true });
      const killedAt = async (nth: number): Promise<boolean> => {
        await rm(host, { recursive: true });
        await cp(template, host, { recursive: true });
        const inject = ["-e", `trace=${call}`, "-e", `inject=${call}:signal=KILL:when=${nth}`];
        const { code } = await installOnce(["strace", "-f", "-qq", "-o", "/dev/null", ...inject]);
        expect([0, KILLED]).toContain(code);
        return code === KILLED;
      };
      let nth = 1;
      for (; await killedAt(nth); nth += stepOf(call)) {
        const left = await visible();
        expect(Object.keys(left)).toEqual(expect.arrayContaining(Object.keys(before)));
        for (const [name, content] of Object.entries(left)) {
          expect([contentOf(name), before[name]], `${name} at ${call} ${nth}`).toContain(content);
        }
        const states = (await repair(image)).map(({ state }) => state);
        expect(states, `after ${call} ${nth}`).toEqual(NAMES.map(() => "installed"));
        expect(await visible()).toEqual(installed);
        expect((await readdir(host)).filter((name) => name.endsWith("-tmp"))).toEqual([]);
      }
      expect(nth).toBeGreaterThan(atLeast);
    },
  );

  it("on a full disk keeps what is there, says so, and leaves nothing half written", async () => {
    await writeFile(join(image, "bridge"), "b".repeat(200_000) + PLUGINS.bridge);
    const script = `mount -t tmpfs -o size=100k tmpfs "$0" && echo v1.5.1 > "$0/cnv-bridge"`;
    const report = `"$@"; cat "$0/cnv-bridge"; ls -A "$0"`;
    const { stdout } = await installOnce(["unshare", ...USER, "--mount", "sh", "-c", `${script} && ${report}`, host]);
    const [states = "", kept, ...files] = stdout.trim().split("\n");
    expect(kept).toBe("v1.5.1");
    expect(files).toEqual(["cnv-bridge", "cnv-tuning", "tuning"]);
    const failed = (JSON.parse(states) as TargetState[]).filter(({ state }) => state === "failed");
    expect(failed.map(({ name }) => name)).toEqual(["cnv-bridge", "bridge"]);
    expect(failed[0]?.detail).toContain("is full: free space on the node");
  });

  it("in a read-only directory says what to set", async () => {
    const states = statesOf(await installOnce(mounted(`mount -t tmpfs -o ro tmpfs "$0"`)));
    expect(states.map(({ state }) => state)).toEqual(NAMES.map(() => "failed"));
    expect(states[0]?.detail).toContain("read-only file system: set linuxBridge.cniBinDir");
  });

  it("has the capabilities for a directory that belongs to somebody else", async () => {
    await chmod(host, 0o555);
    const bounding = ["-all", ...(await addedCapabilities()).map((one) => `+${one.toLowerCase()}`)].join(",");
    const asPod = [...(USER.length === 0 ? [] : ["unshare", ...USER]), "setpriv", `--bounding-set=${bounding}`];
    const states = statesOf(await installOnce(asPod));
    expect(states.map(({ state, detail }) => detail ?? state)).toEqual(NAMES.map(() => "installed"));
    await chmod(host, 0o755);
  });

  /** Those that the pod of the installer is given. */
  async function addedCapabilities(): Promise<string[]> {
    const rendered = await readFile(join(import.meta.dirname, "../../golden/linuxBridge.yaml"), "utf8");
    const objects = parseAllDocuments(rendered).map((document) => document.toJS());
    const installer = objects.find(({ metadata }) => metadata.name === LINUX_BRIDGE_DAEMON_SET);
    return installer.spec.template.spec.containers[0].securityContext.capabilities.add;
  }

  it("on a failing disk says so and leaves nothing half written", async () => {
    const failing = await installOnce(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO"]);
    expect(statesOf(failing)[0]?.detail).toContain("check the node's disk");
    expect(await readdir(host)).toEqual([]);
  });

  it("that a security module forbids to rename says so and leaves nothing half written", async () => {
    const refused = await installOnce(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=rename:error=EPERM"]);
    expect(statesOf(refused)[0]?.detail).toContain("this process must not write to");
    expect(await readdir(host)).toEqual([]);
  });

  it("where the kernel gives no watch looks for itself, long before the pass that is made anyway", async () => {
    const inject = ["-e", "trace=inotify_add_watch", "-e", "inject=inotify_add_watch:error=ENOSPC"];
    const strace = ["-f", "-qq", "-o", "/dev/null", ...inject, process.execPath, INSTALL_ON_CHANGE, host, image];
    const installer = spawn("strace", strace, { stdio: ["pipe", "ignore", "inherit"] });
    const isThere = () => vi.waitFor(() => readFile(join(host, "cnv-bridge")), { timeout: 30_000 });
    await isThere();
    await rm(join(host, "cnv-bridge"));
    await isThere();
    installer.stdin.end();
    expect(await once(installer, "exit")).toEqual([0, null]);
  });

  it("beside another one that starts at the same time ends with whole files", async () => {
    for (const states of (await Promise.all([installOnce(), installOnce()])).map(statesOf)) {
      expect(states.filter(({ state }) => state === "failed").map(({ detail }) => detail)).toEqual([]);
    }
    expect(await visible()).toEqual(installed);
  });

  it("beside one of another version ends with whole files of either, and what goes on makes them its own", async () => {
    for (let race = 0; race < RACES; race++) {
      await rm(host, { recursive: true });
      await mkdir(host);
      const ended = new AbortController();
      const looked = lookUntil(ended.signal);
      const both = await Promise.all([installOnce(), installOnce([], earlierImage)]);
      ended.abort();
      for (const [name, content] of [...(await looked), ...Object.entries(await visible())]) {
        expect([contentOf(name), earlierOf(name)], name).toContain(content);
      }
      expect(both.flatMap(statesOf).filter(({ state }) => state === "failed")).toEqual([]);
      expect(Object.keys(await visible()).sort()).toEqual(NAMES);
      expect(
        (await repair(image)).map(({ state }) => state),
        `race ${race}`,
      ).toEqual(NAMES.map(() => "installed"));
      expect(await visible()).toEqual(installed);
    }
  });

  /** All contents that were seen under a name. */
  async function lookUntil(signal: AbortSignal): Promise<[string, string][]> {
    const seen = new Map<string, [string, string]>();
    while (!signal.aborted) {
      for (const [name, content] of Object.entries(await visible())) seen.set(`${name} ${content}`, [name, content]);
    }
    return [...seen.values()];
  }

  it("takes over what the earlier installer left: links in either direction", async () => {
    await writeFile(join(host, "cnv-bridge"), PREDECESSOR);
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

  it("beside the predecessor's, whose pod copies its files at each start, has the last word", async () => {
    const command = [INSTALL_ON_CHANGE, host, image];
    const installer = spawn(process.execPath, command, { stdio: ["pipe", "ignore", "inherit"] });
    const ends = (files: object) => vi.waitFor(async () => expect(await visible()).toEqual(files), { timeout: 30_000 });
    await ends({ "cnv-bridge": PLUGINS.bridge, bridge: PLUGINS.bridge });
    await writeFile(join(earlierImage, "bridge"), PREDECESSOR);
    const copy = async (name: string, link: string): Promise<void> => {
      const start = `cd "$0" && cp --remove-destination "$1/bridge" ${name} && ln -sf ${name} ${link}`;
      expect((await runCommand(["sh", "-c", start, host, earlierImage])).code).toBe(0);
    };
    await copy("cnv-bridge", "bridge");
    await ends({ "cnv-bridge": PLUGINS.bridge, bridge: PLUGINS.bridge });
    // A file of its own under the shared name is somebody else's.
    await copy("bridge", "cnv-bridge");
    await ends({ "cnv-bridge": PLUGINS.bridge, bridge: PREDECESSOR });
    installer.stdin.end();
    expect(await once(installer, "exit")).toEqual([0, null]);
  });

  it("never lets a plugin fail that is executed while it is replaced: the predecessor's, then other versions", async () => {
    const shipped = await readFile(await pluginPath("bridge"));
    await cp(join(await buildPeers(process.env), "bridge"), join(host, "cnv-bridge"));
    await symlink("cnv-bridge", join(host, "bridge"));
    const done = new AbortController();
    const outcomes: Record<string, number[]> = { "cnv-bridge": [], bridge: [] };
    const execute = async (name: string): Promise<void> => {
      const { code } = await runCommand([join(host, name)], { env: { CNI_COMMAND: "VERSION" }, stdin: "{}" });
      outcomes[name]?.push(code);
    };
    const executeOn = async (name: string): Promise<void> => {
      while (!done.signal.aborted) await execute(name);
    };
    const replace = async (version: number): Promise<void> => {
      const mark = formatPluginMark("bridge", `${version}`);
      await writeFile(join(image, "bridge"), Buffer.concat([shipped, Buffer.from(mark)]));
      const states = await repair(image, ["bridge"]);
      expect(states.map(({ state }) => state)).toEqual(["installed", "installed"]);
    };
    const names = Object.keys(outcomes);
    await Promise.all(names.map(execute));
    const executing = Promise.all(names.map(executeOn));
    try {
      for (let version = 0; version <= REPLACEMENTS; version++) await replace(version);
    } finally {
      done.abort();
      await executing;
    }
    for (const codes of Object.values(outcomes)) {
      expect(codes.length).toBeGreaterThan(REPLACEMENTS);
      expect(codes.filter((code) => code !== 0)).toEqual([]);
    }
  });
});
