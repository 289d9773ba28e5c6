import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { agentMetrics } from "../../../src/linux-bridge/agent/agent-metrics.ts";
import type { HostLink } from "../../../src/linux-bridge/agent/host-links.ts";

let root: string;
let records: string;
let links: HostLink[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "vlans-"));
  [records, links] = [join(root, "records"), []];
  await mkdir(records);
});
afterEach(() => rm(root, { recursive: true }));

function bridge(name: string, filtersVlans: boolean | undefined): void {
  links = [...links.filter((link) => link.name !== name), { name, alias: "", filtersVlans }];
}

let containers = 0;
async function attach(config: object, plugin = "bridge"): Promise<void> {
  const containerId = `c${++containers}`;
  const record = { plugin, network: "net", containerId, ifname: "net1", netns: "/run/netns/pod" };
  const text = JSON.stringify({ ...record, config: JSON.stringify(config) });
  await writeFile(join(records, `${containerId}~net1~${plugin}.json`), text);
}

async function gauge(): Promise<string[]> {
  const registry = new Registry();
  agentMetrics(registry, { recordDirectory: records, netnsDirectories: [], listLinks: async () => links });
  const text = await registry.metrics();
  return text.split("\n").filter((line) => line.startsWith("linux_bridge_unfiltered_vlan_attachments"));
}

it("counts attachments with VLANs on bridges that do not filter, until they do", async () => {
  bridge("br1", false);
  bridge("cni0", false);
  bridge("br2", true);
  bridge("eth0", undefined);
  await attach({ bridge: "br1", vlan: 7 });
  await attach({ Bridge: "br1", VLANTrunk: [{ id: 8 }] });
  await attach({ vlan: "9" });
  await attach({ bridge: "br2", vlan: 7 });
  await attach({ bridge: "br1" });
  await attach({ bridge: "br1", vlan: 0, vlanTrunk: [] });
  await attach({ bridge: "br1", vlan: 7 }, "tuning");
  await attach({ bridge: "eth0", vlan: 7 });
  await attach({ bridge: "no-more", vlan: 7 });
  expect((await gauge()).sort()).toEqual([
    'linux_bridge_unfiltered_vlan_attachments{bridge="br1"} 2',
    'linux_bridge_unfiltered_vlan_attachments{bridge="cni0"} 1',
  ]);
  bridge("br1", true);
  expect(await gauge()).toEqual(['linux_bridge_unfiltered_vlan_attachments{bridge="cni0"} 1']);
});
