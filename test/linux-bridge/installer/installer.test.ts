import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatPluginMark } from "../../../src/api/plugin-mark.ts";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { type Log, silentLog } from "../../../src/kube/log.ts";
import { Installer, shippedPlugins } from "../../../src/linux-bridge/installer/installer.ts";
import { removePlugins } from "../../../src/linux-bridge/installer/removal.ts";

let root: string;
let host: string;
let image: string;
let logged: string[];
let nowMs: number;

const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
const ONE = `bridge, version one${formatPluginMark("bridge", "1.0.0")}`;
const TWO = `bridge, version two${formatPluginMark("bridge", "2.0.0")}`;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "installer-"));
  host = join(root, "host");
  image = join(root, "image");
  await mkdir(host);
  await mkdir(image);
  await writeFile(join(image, "bridge"), ONE);
  logged = [];
  nowMs = 0;
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function installer(): Promise<Installer> {
  const log: Log = {
    ...silentLog,
    warn: (_fields: object | string, message?: string) => logged.push(message ?? ""),
    error: (_fields: object | string, message?: string) => logged.push(message ?? ""),
  };
  const plugins = await shippedPlugins(image, ["bridge", "tuning"]);
  return new Installer({ directory: host, pluginDirectory: image, plugins, clock, log });
}

async function install(): Promise<Installer> {
  const made = await installer();
  await made.repair();
  return made;
}

const content = (name: string): Promise<string> => readFile(join(host, name), "utf8");
const states = (made: Installer): string[] => made.states.map(({ name, state }) => `${name} ${state}`);

describe("the installer", () => {
  it("installs cnv-bridge and bridge as executables of their own, and only what the image has", async () => {
    const made = await install();
    expect((await readdir(host)).sort()).toEqual(["bridge", "cnv-bridge"]);
    for (const name of ["bridge", "cnv-bridge"]) {
      expect(await content(name)).toBe(ONE);
      expect((await stat(join(host, name))).mode & 0o777).toBe(0o755);
      expect((await lstat(join(host, name))).isFile()).toBe(true);
    }
    expect(made.ready).toBe(true);
  });

  it("leaves a foreign bridge alone and reports it, and is ready all the same", async () => {
    await writeFile(join(host, "bridge"), "the distribution's", { mode: 0o755 });
    const made = await install();
    expect(await content("bridge")).toBe("the distribution's");
    expect(states(made)).toEqual(["cnv-bridge installed", "bridge foreign"]);
    expect(made.ready).toBe(true);
    expect(logged).toEqual([expect.stringMatching(/bridge is not ours \(a file with sha256 .*\) and stays/)]);
    await made.repair();
    expect(logged).toHaveLength(1);
  });

  it("replaces a foreign bridge where it is told to, and removes it with the rest", async () => {
    await writeFile(join(host, "bridge"), "the distribution's", { mode: 0o755 });
    const plugins = await shippedPlugins(image, ["bridge"]);
    const made = new Installer({
      directory: host,
      pluginDirectory: image,
      plugins,
      replaceForeign: true,
      clock,
      log: silentLog,
    });
    await made.repair();
    expect([states(made), await content("bridge")]).toEqual([["cnv-bridge installed", "bridge installed"], ONE]);
    await removePlugins(host);
    expect(await readdir(host)).toEqual([]);
  });

  it("makes cnv-bridge a file of ours when it is a link to a foreign bridge, which stays", async () => {
    await writeFile(join(host, "bridge"), "the distribution's");
    await symlink("bridge", join(host, "cnv-bridge"));
    await install();
    expect(await content("cnv-bridge")).toBe(ONE);
    expect(await content("bridge")).toBe("the distribution's");
  });

  it("takes over a bridge that an earlier installer linked to cnv-bridge", async () => {
    await writeFile(join(host, "cnv-bridge"), "v1.5.1");
    await symlink("cnv-bridge", join(host, "bridge"));
    const made = await install();
    expect(states(made)).toEqual(["cnv-bridge installed", "bridge installed"]);
    expect((await lstat(join(host, "bridge"))).isFile()).toBe(true);
  });

  it("replaces a dangling link and leaves a link to somebody else's file", async () => {
    await symlink("/nowhere/bridge", join(host, "bridge"));
    expect(states(await install())).toEqual(["cnv-bridge installed", "bridge installed"]);
    await writeFile(join(root, "elsewhere"), "x");
    await rm(join(host, "bridge"));
    await symlink(join(root, "elsewhere"), join(host, "bridge"));
    expect(states(await install())).toEqual(["cnv-bridge installed", "bridge foreign"]);
  });

  it.each([
    ["to a file elsewhere on the node, which can't be seen from here", "/usr/libexec/cni/bridge", "foreign"],
    ["up and out of the directory", "../../libexec/cni/bridge", "foreign"],
    ["to a file that is there", "/opt/cni/bin/bridge-1.5", "foreign"],
    ["to nothing", "/opt/cni/bin/bridge-1.4", "installed"],
    ["to cnv-bridge, as earlier installers made it", "/opt/cni/bin/cnv-bridge", "installed"],
  ])("judges a link by the node's paths: %s", async (_, target, state) => {
    await writeFile(join(host, "bridge-1.5"), "the distribution's");
    await symlink(target, join(host, "bridge"));
    const plugins = await shippedPlugins(image, ["bridge"]);
    const options = { directory: host, directoryOnNode: "/opt/cni/bin", pluginDirectory: image, plugins };
    const made = new Installer({ ...options, clock, log: silentLog });
    await made.repair();
    expect(states(made)).toEqual(["cnv-bridge installed", `bridge ${state}`]);
    expect((await lstat(join(host, "bridge"))).isSymbolicLink()).toBe(state === "foreign");
  });

  it.each(["bridge", "cnv-bridge"])(
    "takes over %s as the earlier installer linked it, by the path in its pod",
    async (name) => {
      await symlink(name === "bridge" ? "/opt/cni/bin/cnv-bridge" : "/opt/cni/bin/bridge", join(host, name));
      const plugins = await shippedPlugins(image, ["bridge"]);
      const options = { directory: host, directoryOnNode: "/var/lib/cni/bin", pluginDirectory: image, plugins };
      const made = new Installer({ ...options, clock, log: silentLog });
      await made.repair();
      expect(states(made)).toEqual(["cnv-bridge installed", "bridge installed"]);
      expect((await lstat(join(host, name))).isFile()).toBe(true);
    },
  );

  it("upgrades what an earlier version of ours installed", async () => {
    await install();
    await writeFile(join(image, "bridge"), TWO);
    await install();
    expect([await content("bridge"), await content("cnv-bridge")]).toEqual([TWO, TWO]);
  });

  it("does not take a file for ours that was put over ours since", async () => {
    await install();
    await writeFile(join(host, "bridge"), "the distribution's");
    await writeFile(join(host, "cnv-bridge"), "damaged");
    await writeFile(join(image, "bridge"), TWO);
    const made = await install();
    expect(await content("bridge")).toBe("the distribution's");
    expect(await content("cnv-bridge")).toBe(TWO);
    expect(states(made)).toEqual(["cnv-bridge installed", "bridge foreign"]);
  });

  it("says of an update that failed that it failed, until it succeeds", async () => {
    await install();
    await writeFile(join(image, "bridge"), TWO);
    const made = await installer();
    await writeFile(join(image, "bridge"), "damaged since");
    for (let pass = 0; pass < 2; pass++) {
      await made.repair();
      expect(states(made)).toEqual(["cnv-bridge failed", "bridge failed"]);
    }
    expect(await content("bridge")).toBe(ONE);
    await writeFile(join(image, "bridge"), TWO);
    await made.repair();
    expect([await content("bridge"), await content("cnv-bridge")]).toEqual([TWO, TWO]);
  });

  it("makes a file its own that is of its version, and of other content", async () => {
    await writeFile(join(host, "bridge"), ONE.replace("bridge,", "damaged,"));
    expect(states(await install())).toEqual(["cnv-bridge installed", "bridge installed"]);
    expect(await content("bridge")).toBe(ONE);
  });

  it("installs no executable that would be foreign to its successor", async () => {
    await writeFile(join(image, "bridge"), "without a mark");
    await expect(install()).rejects.toThrow(/bridge has no mark at its end/);
  });

  it("repairs deleted files and wrong modes", async () => {
    const made = await install();
    await rm(join(host, "cnv-bridge"));
    await chmod(join(host, "bridge"), 0o600);
    await made.repair();
    expect(await content("cnv-bridge")).toBe(ONE);
    expect((await stat(join(host, "bridge"))).mode & 0o777).toBe(0o755);
  });

  it("never writes into a file that is in use: the old content stays under the open descriptor", async () => {
    await install();
    const before = await stat(join(host, "cnv-bridge"));
    await writeFile(join(image, "bridge"), TWO);
    await install();
    expect((await stat(join(host, "cnv-bridge"))).ino).not.toBe(before.ino);
  });

  it("says what is in the way, and installs the rest", async () => {
    await mkdir(join(host, "cnv-bridge"));
    const made = await install();
    expect(states(made)).toEqual(["cnv-bridge failed", "bridge installed"]);
    expect(made.ready).toBe(false);
    expect(logged).toEqual([
      expect.stringContaining("cnv-bridge could not be installed: there is something that is no file"),
    ]);
  });

  it("removes what a killed predecessor left half written, and nothing else that is hidden", async () => {
    const half = join(host, ".cnv-bridge.0123abcd.cluster-network-addons-tmp");
    const young = ".bridge.0123abcd.cluster-network-addons-tmp";
    const longAgo = new Date(Date.now() - 120_000);
    await writeFile(half, "half");
    await utimes(half, longAgo, longAgo);
    await writeFile(join(host, young), "somebody is writing");
    await writeFile(join(host, ".keep"), "");
    await install();
    expect((await readdir(host)).sort()).toEqual([".keep", young, "bridge", "cnv-bridge"].sort());
  });
});

describe("the removal", () => {
  it("takes exactly our own files away", async () => {
    await writeFile(join(host, "loopback"), "theirs");
    await mkdir(join(host, "directory"));
    await install();
    expect((await removePlugins(host)).sort()).toEqual(["bridge", "cnv-bridge"]);
    expect((await readdir(host)).sort()).toEqual(["directory", "loopback"]);
  });

  it("leaves foreign files under our names, and files of ours under other names", async () => {
    await writeFile(join(host, "bridge"), "the distribution's");
    await writeFile(join(host, "bridge.bak"), ONE);
    await symlink("cnv-bridge", join(host, "tuning"));
    await install();
    expect(await removePlugins(host)).toEqual(["cnv-bridge"]);
    expect((await readdir(host)).sort()).toEqual(["bridge", "bridge.bak", "tuning"]);
  });

  it("takes away what another version installed under a name that this one does not have", async () => {
    const removedName = `gone${formatPluginMark("gone", "0.9.0")}`;
    for (const name of ["gone", "cnv-gone"]) await writeFile(join(host, name), removedName);
    expect((await removePlugins(host)).sort()).toEqual(["cnv-gone", "gone"]);
  });
});
