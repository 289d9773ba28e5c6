import { describe, expect, it } from "vitest";
import { add, type CniCall, del } from "./cni-call.ts";
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

freshPreparedNode();

/** Where to kill, from a run after a first one that made the folders. */
async function killPoints(command: "ADD" | "DEL", one: CniCall, config: object): Promise<SystemCall[]> {
  await add(one, config);
  if (command === "ADD") await del(one, config);
  const calls = await systemCallsOf(command, one, config);
  expect(calls.length).toBeGreaterThan(50);
  if (EVERY_CALL) return calls;
  const changing = calls.filter(({ changes }) => changes);
  return "ipam" in config ? changing.filter((_, at) => at % SAMPLED === 0) : changing;
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
});
