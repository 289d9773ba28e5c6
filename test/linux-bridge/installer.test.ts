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
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Log, silentLog } from "../../src/kube/log.ts";
import { withDirectoryLock } from "../../src/linux-bridge/directory-lock.ts";
import { Installer, shippedPlugins } from "../../src/linux-bridge/installer.ts";
import { MANIFEST_NAME } from "../../src/linux-bridge/manifest.ts";
import { removePlugins } from "../../src/linux-bridge/removal.ts";

let root: string;
let host: string;
let image: string;
let logged: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "installer-"));
  host = join(root, "host");
  image = join(root, "image");
  await mkdir(host);
  await mkdir(image);
  await writeFile(join(image, "bridge"), "bridge, version one");
  logged = [];
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
  return new Installer({ directory: host, pluginDirectory: image, plugins, log });
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
    expect((await readdir(host)).sort()).toEqual([MANIFEST_NAME, "bridge", "cnv-bridge"]);
    for (const name of ["bridge", "cnv-bridge"]) {
      expect(await content(name)).toBe("bridge, version one");
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
    expect(logged).toEqual([expect.stringMatching(/bridge is not ours \(a file with sha256 .*\) and is left alone/)]);
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
      log: silentLog,
    });
    await made.repair();
    expect([states(made), await content("bridge")]).toEqual([
      ["cnv-bridge installed", "bridge installed"],
      "bridge, version one",
    ]);
    await removePlugins(host, made.targets);
    expect(await readdir(host)).toEqual([]);
  });

  it("makes cnv-bridge a file of ours when it is a link to a foreign bridge, which stays", async () => {
    await writeFile(join(host, "bridge"), "the distribution's");
    await symlink("bridge", join(host, "cnv-bridge"));
    await install();
    expect(await content("cnv-bridge")).toBe("bridge, version one");
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
    const made = new Installer({ ...options, log: silentLog });
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
      const made = new Installer({ ...options, log: silentLog });
      await made.repair();
      expect(states(made)).toEqual(["cnv-bridge installed", "bridge installed"]);
      expect((await lstat(join(host, name))).isFile()).toBe(true);
    },
  );

  it("upgrades what an earlier version of ours installed", async () => {
    await install();
    await writeFile(join(image, "bridge"), "bridge, version two");
    await install();
    expect([await content("bridge"), await content("cnv-bridge")]).toEqual([
      "bridge, version two",
      "bridge, version two",
    ]);
  });

  it("does not take a file for ours that was put over ours since", async () => {
    await install();
    await writeFile(join(host, "bridge"), "the distribution's");
    await writeFile(join(host, "cnv-bridge"), "damaged");
    await writeFile(join(image, "bridge"), "bridge, version two");
    const made = await install();
    expect(await content("bridge")).toBe("the distribution's");
    expect(await content("cnv-bridge")).toBe("bridge, version two");
    expect(states(made)).toEqual(["cnv-bridge installed", "bridge foreign"]);
  });

  it("knows its own file without the manifest while the version is the same", async () => {
    await install();
    await writeFile(join(host, MANIFEST_NAME), "{ damaged");
    expect(states(await install())).toEqual(["cnv-bridge installed", "bridge installed"]);
    expect(JSON.parse(await content(MANIFEST_NAME))).toMatchObject({
      version: 1,
      files: { bridge: [expect.any(String)] },
    });
  });

  it("repairs deleted files and wrong modes", async () => {
    const made = await install();
    await rm(join(host, "cnv-bridge"));
    await chmod(join(host, "bridge"), 0o600);
    await made.repair();
    expect(await content("cnv-bridge")).toBe("bridge, version one");
    expect((await stat(join(host, "bridge"))).mode & 0o777).toBe(0o755);
  });

  it("never writes into a file that is in use: the old content stays under the open descriptor", async () => {
    await install();
    const before = await stat(join(host, "cnv-bridge"));
    await writeFile(join(image, "bridge"), "bridge, version two");
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
    expect((await readdir(host)).sort()).toEqual([MANIFEST_NAME, ".keep", young, "bridge", "cnv-bridge"].sort());
  });
});

/** Those that are connected to whoever has the lock of the directory. */
async function waitingForLock(): Promise<number> {
  const { dev, ino } = await stat(host);
  const sockets = (await readFile("/proc/net/unix", "utf8")).split("\n");
  return sockets.filter((line) => line.endsWith(`/installer/${dev}:${ino}`)).length - 1;
}

describe("the removal", () => {
  it("takes exactly our own files away", async () => {
    await writeFile(join(host, "loopback"), "theirs");
    const made = await install();
    expect(await removePlugins(host, made.targets)).toEqual({ removed: ["cnv-bridge", "bridge"], foreign: [] });
    expect(await readdir(host)).toEqual(["loopback"]);
  });

  it("leaves foreign files under our names", async () => {
    await writeFile(join(host, "bridge"), "the distribution's");
    const made = await install();
    expect(await removePlugins(host, made.targets)).toEqual({ removed: ["cnv-bridge"], foreign: ["bridge"] });
    expect(await readdir(host)).toEqual(["bridge"]);
  });

  it("takes away what an older version installed under a name that this one has no more", async () => {
    await writeFile(join(image, "tuning"), "tuning");
    await install();
    await rm(join(image, "tuning"));
    const made = await installer();
    const { removed } = await removePlugins(host, made.targets);
    expect([...removed].sort()).toEqual(["bridge", "cnv-bridge", "cnv-tuning", "tuning"]);
    expect(await readdir(host)).toEqual([]);
  });

  it("waits for its turn beside another installer", async () => {
    const made = await install();
    let removal: Promise<unknown> | undefined;
    await withDirectoryLock(host, async () => {
      removal = removePlugins(host, made.targets);
      await vi.waitFor(async () => expect(await waitingForLock()).toBe(1));
      expect(await readdir(host)).toContain("cnv-bridge");
    });
    expect(await removal).toMatchObject({ removed: ["cnv-bridge", "bridge"] });
  });

  it("is not led out of the directory by a manifest that was tampered with", async () => {
    const made = await install();
    await writeFile(join(root, "precious"), "bridge, version one");
    const sha256 = made.states[0]?.sha256;
    await writeFile(join(host, MANIFEST_NAME), JSON.stringify({ version: 1, files: { "../precious": [sha256] } }));
    await removePlugins(host, made.targets);
    expect(await readFile(join(root, "precious"), "utf8")).toBe("bridge, version one");
  });
});
