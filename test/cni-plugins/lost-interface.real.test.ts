import { expect, it } from "vitest";
import { add, del } from "../netns/cni-call.ts";
import { BRIDGE, call, freshPreparedNode, node } from "../netns/prepared-node.ts";

const CONFIG = {
  ...{ cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: BRIDGE, macspoofchk: true },
  ipam: { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] },
};

freshPreparedNode();

/** As in a pod: the testbed leaves this machine's, which shows this machine's links. */
const mountSysfs = (): Promise<string> => node.shell("mount -t sysfs sysfs /sys");

it("takes the rules and the lease of a pod whose interface somebody deleted, and leaves its neighbour's", async () => {
  await mountSysfs();
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

it("judges nothing where another namespace's links are shown", async () => {
  await add(call, CONFIG);
  await expect.poll(async () => (await node.container.link("net1"))?.operstate).toBe("UP");
  const before = await node.state();
  await node.reap();
  expect(await node.state()).toBe(before);
});
