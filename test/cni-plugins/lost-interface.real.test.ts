import { join } from "node:path";
import { expect, it } from "vitest";
import { attachedKeys } from "../../src/linux-bridge/agent/attachments.ts";
import { add, del } from "../netns/cni-call.ts";
import { BRIDGE, call, freshPreparedNode, node } from "../netns/prepared-node.ts";

const LIST_LINKS = join(import.meta.dirname, "../linux-bridge/agent/list-links.ts");

const CONFIG = {
  ...{ cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: BRIDGE, macspoofchk: true },
  ipam: { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] },
};

freshPreparedNode();

it("takes the rules and the lease of a pod whose interface somebody deleted, and leaves its neighbour's", async () => {
  await del(call, CONFIG);
  await add({ ...call, containerId: "neighbour", ifname: "net2" }, CONFIG);
  await expect.poll(async () => (await node.container.link("net2"))?.operstate).toBe("UP");
  const before = await node.state();
  const { interfaces } = await add(call, CONFIG);
  const ours = interfaces.find(({ name }: { name: string }) => name.startsWith("veth"))?.name;
  await node.shell(`ip link del ${ours}`);
  expect(await node.state()).not.toBe(before);
  await node.reap();
  expect(await node.state()).toBe(before);
});

it("is no reason while the node agent sees the interface, also where /sys shows another namespace's", async () => {
  await add(call, CONFIG);
  const { code, stdout } = await node.node.run([process.execPath, LIST_LINKS], { env: {} });
  expect(code).toBe(0);
  expect(attachedKeys(JSON.parse(stdout).lists[0])).toEqual([expect.stringMatching(/.\/net1$/)]);
  expect(await node.shell("ls /sys/class/net")).not.toContain(BRIDGE);
});
