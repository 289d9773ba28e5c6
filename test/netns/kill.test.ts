import { describe, expect, it } from "vitest";
import { add, cni, del } from "./cni-call.ts";
import { killedAt } from "./killed-call.ts";
import {
  expectAddRemovable,
  expectDelFinishable,
  expectNothingChanged,
  expectReaped,
  type Killable,
  pointsOf,
} from "./kills.ts";
import { call, freshPreparedNode, node } from "./prepared-node.ts";

const CONFIG = { cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: "br1" };
const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const CONFIGS: readonly [string, object][] = [
  ["on layer 2", CONFIG],
  [
    "with addresses and spoof check",
    { ...CONFIG, macspoofchk: true, allowedMacs: ["00:00:5e:00:01:00/40"], acceptRa: false, ipam: IPAM },
  ],
  [
    "with gateway and masquerading",
    { ...CONFIG, isGateway: true, ipMasq: true, ipMasqBackend: "nftables", ipam: IPAM },
  ],
];

freshPreparedNode();

const killable = (config: object): Killable => ({ call, config, state: () => node.state() });

/** host-local releases nothing at GC, and gives each attachment another address. */
async function stateOfAnyAddress(): Promise<string> {
  return (await node.state()).replaceAll(/10\.9\.0\.\d+/g, "ADDRESS");
}

describe("a plugin that is killed on its way into any system call", () => {
  it.each(CONFIGS)("an ADD %s leaves nothing that DEL does not remove", (_, config) =>
    expectAddRemovable(killable(config)),
  );

  it.each(CONFIGS)("a DEL %s is finished by the next one", (_, config) => expectDelFinishable(killable(config)));

  it.each(CONFIGS)("an ADD or DEL %s whose container goes away is finished by the reaper", (_, config) =>
    expectReaped({ ...killable(config), ...node.pod() }),
  );

  it.each(CONFIGS)("a CHECK of an attachment %s changes nothing", async (_, config) => {
    const prevResult = await add(call, config);
    await expectNothingChanged("CHECK", killable({ ...config, prevResult }));
  });

  it.each(CONFIGS)(
    "a STATUS %s changes nothing, neither before there is an attachment nor beside one",
    async (_, config) => {
      await expectNothingChanged("STATUS", killable(config));
      await add(call, config);
      await expectNothingChanged("STATUS", killable(config));
    },
  );

  it.each(CONFIGS)("a GC of an attachment %s is finished by the next one", async (_, config) => {
    const gcConfig = { ...config, "cni.dev/valid-attachments": [] };
    await add(call, config);
    const points = await pointsOf("GC", { call, config: gcConfig });
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
});
