import { describe, expect, it } from "vitest";
import { add, type CniCall, cni, del } from "./cni-call.ts";
import { killedAt } from "./killed-call.ts";
import { expectAddRemovable, expectDelFinishable, expectNothingChanged, expectReaped, killPoints } from "./kills.ts";
import { call, freshPreparedNode, NETNS, node } from "./prepared-node.ts";

const BRIDGE = { cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: "br1" };
const INTERFACES = [{ name: "net1", sandbox: NETNS }];
const TUNING = {
  ...{ cniVersion: "1.1.0", name: "br1-net", type: "tuning", mac: "02:00:00:00:00:99", mtu: 1400, txQLen: 5 },
  prevResult: { cniVersion: "1.1.0", interfaces: INTERFACES },
};
const WITH_SYSCTLS = {
  ...TUNING,
  sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1", "net.ipv4.conf.IFNAME.arp_ignore": "2" },
};

freshPreparedNode();

async function tuned(): Promise<CniCall> {
  await add(call, BRIDGE);
  return node.call("tuning");
}

const state = (): Promise<string> => node.state();

describe("tuning that is killed on its way into any system call", () => {
  it("leaves an interface that is as it was after DEL, whenever ADD or DEL ended", async () => {
    const one = await tuned();
    await expectAddRemovable({ call: one, config: TUNING, state });
    await expectDelFinishable({ call: one, config: TUNING, state });
  });

  it("leaves nothing on the node that the reaper does not remove once the container is gone", async () => {
    const one = await node.call("tuning");
    const makeInterface = () => node.container.ip("link", "add", "net1", "type", "veth", "peer", "name", "other");
    await makeInterface();
    await expectReaped({
      ...{ call: one, config: TUNING, state, reap: () => node.reap() },
      begin: () => Promise.all([node.nameNetns(), makeInterface()]),
      end: () => Promise.all([node.forgetNetns(), node.container.ip("link", "delete", "net1")]),
    });
  });

  it("sets all at an ADD after one that ended, sysctls too, and DEL restores what was before both", async () => {
    const one = await tuned();
    const before = await node.state();
    for (const point of await killPoints("ADD", { call: one, config: WITH_SYSCTLS })) {
      for (const name of ["arp_notify", "arp_ignore"]) {
        await node.container.run(["/bin/sh", "-c", `echo 0 >/proc/sys/net/ipv4/conf/net1/${name}`]);
      }
      await killedAt(point, "ADD", one, WITH_SYSCTLS);
      const where = `ADD killed at ${point.name} ${point.nth}`;
      await add(one, WITH_SYSCTLS);
      expect(await cni("CHECK", one, WITH_SYSCTLS), where).toMatchObject({ code: 0 });
      await del(one, WITH_SYSCTLS);
      expect(await node.state(), where).toBe(before);
    }
  });

  it("changes nothing at CHECK and STATUS", async () => {
    const one = await tuned();
    await expectNothingChanged("STATUS", { call: one, config: WITH_SYSCTLS, state });
    await add(one, WITH_SYSCTLS);
    await expectNothingChanged("CHECK", { call: one, config: WITH_SYSCTLS, state });
  });
});
