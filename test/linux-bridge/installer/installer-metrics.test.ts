import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { formatPluginMark } from "../../../src/api/plugin-mark.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Installer, shippedPlugins } from "../../../src/linux-bridge/installer/installer.ts";
import { installerMetrics } from "../../../src/linux-bridge/installer/installer-metrics.ts";

const shipped = (plugin: string): string => `our ${plugin}${formatPluginMark(plugin, "1.2.3")}`;
const checksumOf = (content: string): string => createHash("sha256").update(content).digest("hex");

it("says of each name the checksum of the file that stands there, also of somebody else's, and the version of ours", async () => {
  const root = await mkdtemp(join(tmpdir(), "installer-metrics-"));
  const [host, image] = [join(root, "host"), join(root, "image")];
  try {
    for (const directory of [host, image, join(host, "cnv-tuning")]) await mkdir(directory);
    for (const plugin of ["bridge", "tuning"]) await writeFile(join(image, plugin), shipped(plugin));
    await writeFile(join(host, "bridge"), "the distribution's");
    await symlink(join(image, "tuning"), join(host, "tuning"));
    const plugins = await shippedPlugins(image, ["bridge", "tuning"]);
    const installer = new Installer({
      directory: host,
      pluginDirectory: image,
      plugins,
      clock: systemClock,
      log: silentLog,
    });
    await installer.repair();
    const registry = new Registry();
    installerMetrics(registry, installer);
    const all = (await registry.metrics()).split("\n");
    const lines = all.filter((line) => line.startsWith("linux_bridge_plugin_info{"));
    const [ours, theirs] = [checksumOf(shipped("bridge")), checksumOf("the distribution's")];
    expect(lines).toEqual([
      `linux_bridge_plugin_info{name="cnv-bridge",state="installed",version="1.2.3",sha256="${ours}"} 1`,
      `linux_bridge_plugin_info{name="bridge",state="foreign",version="",sha256="${theirs}"} 1`,
      `linux_bridge_plugin_info{name="cnv-tuning",state="failed",version="",sha256=""} 1`,
      `linux_bridge_plugin_info{name="tuning",state="foreign",version="",sha256=""} 1`,
    ]);
    expect(all).toContain("linux_bridge_plugin_contests_total 0");
  } finally {
    await rm(root, { recursive: true });
  }
});
