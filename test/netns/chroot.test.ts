/**
 * multus in its thick form starts plugins with the node's root directory as theirs, out of a working directory that is
 * nowhere below it, and with the variables of CNI alone.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { pluginPath } from "./cni-call.ts";
import { freshPreparedNode, NETNS, node } from "./prepared-node.ts";

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };
const MAC = "02:00:00:00:00:99";

let scratch: string;

freshPreparedNode();

/** The executables, /proc and /run: the mounts end with the node. */
beforeEach(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), "chroot-"));
  await node.shell(`mount -t tmpfs tmpfs ${scratch} && cd ${scratch} && mkdir proc run
    cp ${await pluginPath("bridge")} ${await pluginPath("tuning")} . && mount --rbind /proc proc && mount --rbind /run run`);
});

afterEach(() => rm(scratch, { recursive: true, force: true }));

/** What an ADD answers. */
async function succeed(command: string, plugin: string, config: object): Promise<Record<string, unknown>> {
  const env = { CNI_COMMAND: command, CNI_CONTAINERID: "c", CNI_NETNS: NETNS, CNI_IFNAME: "net1", CNI_PATH: "/" };
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const script = 'mkdir "$0/gone" && cd "$0/gone" && rmdir "$0/gone" && exec env -i "$@"';
  const enter = ["/usr/bin/nsenter", `--root=${scratch}`, `/${plugin}`];
  const argv = ["/bin/sh", "-c", script, scratch, ...assignments, ...enter];
  const run = await node.node.run(argv, { env: { PATH: "/usr/bin:/bin" }, input: JSON.stringify(config) });
  expect(run).toEqual({ code: 0, stdout: command === "ADD" ? expect.any(String) : "", stderr: "" });
  return JSON.parse(run.stdout || "{}");
}

it.each<[string, object]>([
  ["on layer 2", CONFIG],
  ["with a spoof check", { ...CONFIG, macspoofchk: true }],
])("attaches %s, checks, tunes and deletes below another root directory, without a working one", async (_, config) => {
  const own = { mac: MAC, mtu: 1400, sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } };
  const chained = { cniVersion: "1.0.0", name: "br1-net", type: "tuning", ...own };
  await succeed("ADD", "bridge", config);
  await succeed("DEL", "bridge", config);
  const before = await node.state();
  const prevResult = await succeed("ADD", "bridge", config);
  await succeed("CHECK", "bridge", { ...config, prevResult });
  const tuned = await succeed("ADD", "tuning", { ...chained, prevResult });
  await succeed("CHECK", "tuning", { ...chained, prevResult: tuned });
  expect(await node.container.link("net1")).toMatchObject({ address: MAC, mtu: 1400 });
  await succeed("DEL", "tuning", { ...chained, prevResult: tuned });
  await succeed("DEL", "bridge", { ...config, prevResult: tuned });
  expect(await node.state()).toBe(before);
});
