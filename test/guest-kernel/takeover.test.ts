/** Attachments in VLANs that the release which clusters run made, deleted and reaped by ours. */

import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, type CniCall, type CniResult, cni, del, pluginPath } from "../netns/cni-call.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const NETNS = "/run/netns/pod";
const HOST_LOCAL = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.7.0.0/24" }]] };
const KEYS = { type: "bridge", bridge: "br1", vlan: 100, macspoofchk: true, isGateway: true, ipam: HOST_LOCAL };
const CONFIG = { cniVersion: "0.4.0", name: "br1-net", ...KEYS };
/** As that release makes them: VLAN 1 stays. */
const PORT_VLANS = [
  { vlan: 1, flags: ["Egress Untagged"] },
  { vlan: 100, flags: ["PVID", "Egress Untagged"] },
];
/** One for the port, and of the attachment one that leads on and two that decide. */
const SPOOF_RULES = 4;

const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(`VLANs of 1.5.1${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let peers: string;
  let ours: string;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    [guest, peers, ours] = await Promise.all([
      Guest.boot(parts),
      buildPeers(process.env, console.error, "1.5.1"),
      pluginPath("bridge"),
    ]);
  });
  afterAll(() => guest?.[Symbol.asyncDispose]());

  async function inTestbed(test: (node: Namespace, container: Namespace) => Promise<void>) {
    const testbed = await Testbed.create(guest);
    try {
      await test(testbed.node, await testbed.container());
    } finally {
      await testbed[Symbol.asyncDispose]();
    }
  }

  const ports = async (node: Namespace): Promise<string[]> =>
    (await node.links()).filter(({ master }) => master === "br1").map(({ ifname }) => ifname);

  async function vlansOf(node: Namespace, ifname: string): Promise<unknown> {
    const { stdout } = await node.run(["bridge", "-json", "vlan", "show"], { env: { PATH: guest.path } });
    const all: { ifname: string; vlans: unknown[] }[] = JSON.parse(stdout);
    return all.find((one) => one.ifname === ifname)?.vlans;
  }

  /** The leases, and the lines about rules that check the MAC. */
  async function leftovers(node: Namespace): Promise<string[]> {
    const script = "ls /run/leases/br1-net | grep ^10; nft list ruleset | grep macspoofchk-";
    const { stdout } = await node.run(["sh", "-c", script], { env: { PATH: guest.path } });
    return stdout.split("\n").filter(Boolean);
  }

  /** All but the gateway's interface, which stays on the bridge. */
  async function expectGone(node: Namespace): Promise<void> {
    expect(await ports(node)).toEqual([expect.stringMatching(/^veth/)]);
    expect((await node.links()).map(({ ifname }) => ifname)).toContain("br1.100");
    expect(await leftovers(node)).toEqual([]);
  }

  it("are accepted by CHECK and removed by DEL", () =>
    inTestbed(async (node, container) => {
      const env = { CNI_PATH: peers, PATH: guest.path };
      const call: CniCall = { node, container, env };
      const prevResult: CniResult = await add({ ...call, executable: path.join(peers, "bridge") }, CONFIG);
      expect(await vlansOf(node, prevResult.interfaces[1]?.name ?? "")).toEqual(PORT_VLANS);
      expect(await leftovers(node)).toHaveLength(1 + SPOOF_RULES);
      expect(await cni("CHECK", call, { ...CONFIG, prevResult })).toMatchObject({ code: 0, stdout: "" });
      await del(call, CONFIG);
      expect((await container.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
      await expectGone(node);
    }));

  it("are reaped when their network namespace is gone", () =>
    inTestbed(async (node, container) => {
      const shell = async (script: string): Promise<string> => {
        const { code, stdout, stderr } = await node.run(["sh", "-c", script], { env: { PATH: guest.path } });
        expect([code, stderr]).toEqual([0, ""]);
        return stdout;
      };
      const list = { cniVersion: "1.0.0", name: "br1-net", plugins: [KEYS] };
      await shell(`mount -t tmpfs tmpfs /var/lib && mount -t sysfs sysfs /sys
        mkdir -p /run/netns /run/conf && printf %s '${JSON.stringify(list)}' >/run/conf/10-br1.conflist
        touch ${NETNS} && mount --bind ${container.path} ${NETNS}
        NETCONFPATH=/run/conf CNI_PATH=${peers} CNI_IFNAME=net1 ${peers}/cnitool add br1-net ${NETNS}`);
      expect(await leftovers(node)).toHaveLength(1 + SPOOF_RULES);
      await container.ip("link", "delete", "net1");
      await shell(`umount -l ${NETNS} && rm ${NETNS}`);
      const reap = path.join(import.meta.dirname, "reap.ts");
      const passed = await shell(`${process.execPath} ${reap} ${path.dirname(ours)} ${peers}`);
      expect(JSON.parse(passed)).toEqual({ reaped: 1, left: 0 });
      await expectGone(node);
    }));
});
