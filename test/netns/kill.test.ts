import { describe, expect, it } from "vitest";
import { add, type CniCall, cni, del } from "./cni-call.ts";
import { killedAt, type SystemCall, systemCallsOf } from "./killed-call.ts";
import { call, freshPreparedNode, NETNS, node } from "./prepared-node.ts";

/**
 * Otherwise: calls that change something outside the process, because what is between two of them leaves nothing more
 * behind; on layer 2 each of them, else one in three. With KILL_AT_EVERY_CALL=1 it takes some minutes.
 */
const EVERY_CALL = process.env.KILL_AT_EVERY_CALL === "1";

const SAMPLED = 3;

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };
const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const CONFIGS: readonly [string, object][] = [
  ["on layer 2", CONFIG],
  ["with addresses and spoof check", { ...CONFIG, macspoofchk: true, ipam: IPAM }],
  [
    "with gateway and masquerading",
    { ...CONFIG, isGateway: true, ipMasq: true, ipMasqBackend: "nftables", ipam: IPAM },
  ],
];
const INTERFACES = [{ name: "net1", sandbox: NETNS }];
const TUNING = {
  ...{ cniVersion: "1.0.0", name: "br1-net", type: "tuning", mac: "02:00:00:00:00:99", mtu: 1400, txQLen: 5 },
  prevResult: { cniVersion: "1.0.0", interfaces: INTERFACES },
};

const TUNING_WITH_SYSCTLS = {
  ...TUNING,
  sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1", "net.ipv4.conf.IFNAME.arp_ignore": "2" },
};

freshPreparedNode();

/** host-local releases nothing at GC, and gives each attachment another address. */
async function stateOfAnyAddress(): Promise<string> {
  return (await node.state()).replaceAll(/10\.9\.0\.\d+/g, "ADDRESS");
}

/** Where to kill, from a run after a first one that made the folders. */
async function killPoints(command: "ADD" | "DEL", one: CniCall, config: object): Promise<SystemCall[]> {
  await add(one, config);
  if (command === "ADD") await del(one, config);
  const points = await pointsOf(command, one, config);
  return "ipam" in config && !EVERY_CALL ? points.filter((_, at) => at % SAMPLED === 0) : points;
}

async function pointsOf(command: string, one: CniCall, config: object): Promise<SystemCall[]> {
  const calls = await systemCallsOf(command, one, config);
  expect(calls.length).toBeGreaterThan(50);
  return EVERY_CALL ? calls : calls.filter(({ changes }) => changes);
}

describe("a plugin that is killed on its way into any system call", () => {
  it.each(CONFIGS)("an ADD %s leaves nothing that DEL does not remove", async (_, config) => {
    const points = await killPoints("ADD", call, config);
    await del(call, config);
    const before = await node.state();
    for (const point of points) {
      await killedAt(point, "ADD", call, config);
      await del(call, config);
      expect(await node.state(), `ADD killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it.each(CONFIGS)("a DEL %s is finished by the next one", async (_, config) => {
    const points = await killPoints("DEL", call, config);
    const before = await node.state();
    for (const point of points) {
      await add(call, config);
      await killedAt(point, "DEL", call, config);
      await del(call, config);
      expect(await node.state(), `DEL killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it.each(CONFIGS)("an ADD or DEL %s whose container goes away is finished by the reaper", async (_, config) => {
    const points = await killPoints("ADD", call, config);
    await del(call, config);
    const again = await killPoints("DEL", call, config);
    await node.forgetNetns();
    const before = await node.state();
    for (const [command, point] of [
      ...points.map((one) => ["ADD", one] as const),
      ...again.map((one) => ["DEL", one] as const),
    ]) {
      await node.nameNetns();
      if (command === "DEL") await add(call, config);
      await killedAt(point, command, call, config);
      await node.forgetNetns();
      expect(await node.reap()).toBe(0);
      expect(await node.state(), `${command} killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it.each(CONFIGS)("a GC of an attachment %s is finished by the next one", async (_, config) => {
    const gcConfig = { ...config, cniVersion: "1.1.0", "cni.dev/valid-attachments": [] };
    await add(call, config);
    const points = await pointsOf("GC", call, gcConfig);
    const collected = await stateOfAnyAddress();
    expect(collected).not.toMatch(/veth[0-9a-f]{8}|macspoofchk-/);
    await del(call, config);
    for (const point of points) {
      await add(call, config);
      await killedAt(point, "GC", call, gcConfig);
      const where = `GC killed at ${point.name} ${point.nth}`;
      expect(await cni("GC", call, gcConfig), where).toMatchObject({ code: 0, stdout: "" });
      expect(await stateOfAnyAddress(), where).toBe(collected);
      await del(call, config);
    }
  });

  it("tuning: the interface is as it was after DEL, whenever ADD or DEL ended", async () => {
    await add(call, CONFIG);
    const one = await node.call("tuning");
    const before = await node.state();
    const points = await killPoints("ADD", one, TUNING);
    await del(one, TUNING);
    const again = await killPoints("DEL", one, TUNING);
    for (const [command, point] of [
      ...points.map((point) => ["ADD", point] as const),
      ...again.map((point) => ["DEL", point] as const),
    ]) {
      if (command === "DEL") await add(one, TUNING);
      await killedAt(point, command, one, TUNING);
      await del(one, TUNING);
      expect(await node.state(), `${command} killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it("tuning: an ADD after one that ended sets all, sysctls too, and DEL restores what was before both", async () => {
    await add(call, CONFIG);
    const one = await node.call("tuning");
    const before = await node.state();
    const points = await killPoints("ADD", one, TUNING_WITH_SYSCTLS);
    await del(one, TUNING_WITH_SYSCTLS);
    for (const point of points) {
      for (const name of ["arp_notify", "arp_ignore"]) {
        await node.container.run(["/bin/sh", "-c", `echo 0 >/proc/sys/net/ipv4/conf/net1/${name}`]);
      }
      await killedAt(point, "ADD", one, TUNING_WITH_SYSCTLS);
      const where = `ADD killed at ${point.name} ${point.nth}`;
      await add(one, TUNING_WITH_SYSCTLS);
      expect(await cni("CHECK", one, TUNING_WITH_SYSCTLS), where).toMatchObject({ code: 0 });
      await del(one, TUNING_WITH_SYSCTLS);
      expect(await node.state(), where).toBe(before);
    }
  });
});
