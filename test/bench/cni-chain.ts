/** The list of plugins that most attachments have, bridge and then tuning, against the Go reference plugins. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
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

/** An ADD of the list: the time in ms from the first plugin's start to the last one's end. `folders`: of executables. */
export async function measureChain(
  folders: Readonly<Record<string, string>>,
  rounds: number,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, Samples>> {
  const timer = await compile("cni-timer", env);
  const directory = await mkdtemp(path.join(tmpdir(), "cni-chain-"));
  try {
    const configFile = path.join(directory, "bridge.json");
    const thenConfigFile = path.join(directory, "tuning.json");
    await writeFile(configFile, JSON.stringify(BRIDGE));
    await writeFile(thenConfigFile, JSON.stringify(TUNING));
    const executables: Record<string, string> = {};
    for (const [side, folder] of Object.entries(folders)) {
      executables[side] = `${path.join(folder, "bridge")},${path.join(folder, "tuning")}`;
    }
    const list = { configFile, thenConfigFile, executables };
    return await measure(timer, { command: "ADD", rounds, parallel: 1, ...list }, env);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
