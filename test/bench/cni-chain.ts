/** The list of plugins that most attachments have, bridge and then tuning, against the Go reference plugins. */

import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { compile, measure, type Samples } from "./cni-timer.ts";

const NETWORK = { cniVersion: "1.0.0", name: "bench" };
const BRIDGE = { ...NETWORK, type: "bridge", bridge: "br-bench" };
/** What the timer calls the interface; of the result before, tuning reads the names only. */
const INTERFACES = [{ name: "br-bench" }, { name: "bench0", sandbox: "/run/netns/bench" }];
const TUNING = {
  ...{ ...NETWORK, type: "tuning", mac: "02:00:00:00:00:01", mtu: 1400 },
  ...{ sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } },
  prevResult: { cniVersion: "1.0.0", interfaces: INTERFACES },
};

/** An ADD of the list: the time in ms from the first plugin's start to the last one's end. */
export async function measureChain(
  plugins: Readonly<Record<string, string>>,
  rounds: number,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, Samples>> {
  const chain = await compile("chain", env);
  const timer = await compile("cni-timer", env);
  const directory = await mkdtemp(path.join(tmpdir(), "cni-chain-"));
  try {
    const configFile = path.join(directory, "config.json");
    await writeFile(configFile, JSON.stringify(BRIDGE));
    const executables: Record<string, string> = {};
    for (const [side, source] of Object.entries(plugins)) executables[side] = await lay(directory, side, source, chain);
    return await measure(timer, { command: "ADD", rounds, parallel: 1, configFile, executables }, env);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A folder with the program that runs the list and what it runs; the program's path. */
async function lay(directory: string, side: string, source: string, chain: string): Promise<string> {
  const folder = path.join(directory, side);
  await mkdir(folder);
  for (const plugin of ["bridge", "tuning"]) await symlink(path.join(source, plugin), path.join(folder, plugin));
  await writeFile(path.join(folder, "tuning.json"), JSON.stringify(TUNING));
  await copyFile(chain, path.join(folder, "chain"));
  return path.join(folder, "chain");
}
