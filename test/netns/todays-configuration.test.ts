/** DEL and GC come with today's configuration, which need not be the ADD's, and also where records were lost. */

import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { searchPath } from "../cluster/requirements.ts";
import { add, cni, del } from "./cni-call.ts";
import { call, data, freshNodeWithIpam, node, rules } from "./fresh-node.ts";

freshNodeWithIpam(() => buildPeers(process.env));

const LAYER_2 = { cniVersion: "1.1.0", name: "l3-net", type: "bridge", bridge: "br1" };
const RULES = { macspoofchk: true, isGateway: true, ipMasq: true, ipMasqBackend: "nftables" };

const ipam = (folder = "") => ({
  type: "host-local",
  dataDir: path.join(data, folder),
  ranges: [[{ subnet: "10.5.0.0/24" }]],
});
const made = () => ({ ...LAYER_2, ...RULES, ipam: ipam() });
const leases = async () => (await readdir(path.join(data, "l3-net"))).filter((name) => name.startsWith("10."));
const run = (script: string) => node.run(["sh", "-c", script], { env: { PATH: searchPath() } });
const loseRuleRecords = () => run("rm -r /run/cni/cluster-network-addons/bridge");
const loseRecords = () => run("rm -r /run/cni/cluster-network-addons");

async function expectNoRules(): Promise<void> {
  const left = await rules();
  for (const trace of ["macspoofchk", "cni-br-iface", "ip saddr"]) expect(left).not.toContain(trace);
}

describe("DEL releases the addresses of the ADD", () => {
  it.each([
    ["without IPAM", () => ({})],
    ["with another IPAM plugin", () => ({ ipam: { type: "static" } })],
    ["with leases elsewhere", () => ({ ipam: ipam("elsewhere") })],
  ])("%s", async (_, today) => {
    await add(call, { ...LAYER_2, ipam: ipam() });
    expect(await leases()).toHaveLength(1);
    await del(call, { ...LAYER_2, ...today() });
    expect(await leases()).toEqual([]);
  });
});

describe("DEL removes the rules of the ADD without the keys that asked for them", () => {
  it.each([
    ["with all records", async () => {}],
    ["without the record of the rules", loseRuleRecords],
    ["without any record", loseRecords],
  ])("%s", async (_, lose) => {
    await add(call, made());
    await lose();
    await del(call, LAYER_2);
    await expectNoRules();
  });

  it("that are only chains, where a key asks for the MAC check", async () => {
    const chains = ["cni-br-iface-container-net1", "cni-br-iface-container-net1-mac"];
    const commands = ["add table bridge nat", ...chains.map((chain) => `add chain bridge nat ${chain}`)];
    await run(`nft '${commands.join("; ")}'`);
    expect(await rules()).toContain(chains[1]);
    await del(call, { ...LAYER_2, macspoofchk: true });
    await expectNoRules();
  });

  it("with the keys that asked for them too, without any record", async () => {
    await add(call, made());
    await loseRecords();
    await del(call, made());
    await expectNoRules();
  });

  it("that the reference made", async () => {
    const reference = path.join(await buildPeers(process.env), "bridge");
    await add({ ...call, executable: reference }, made());
    await del(call, LAYER_2);
    await expectNoRules();
  });
});

it("DEL of a configuration that is wrong today removes all the same, and says what is wrong", async () => {
  await add(call, made());
  const { code, stderr } = await cni("DEL", call, { ...LAYER_2, vlan: "one", ipam: "host-local" });
  expect([code, stderr]).toEqual([0, expect.stringContaining('"ipam" must be an object')]);
  expect(await leases()).toEqual([]);
  await expectNoRules();
});

it("DEL of another network keeps what tells of the attachment whose interface has the name", async () => {
  await add(call, { ...LAYER_2, ipam: ipam() });
  await del(call, { ...LAYER_2, name: "other-net" });
  expect(await leases()).toHaveLength(1);
  await del(call, LAYER_2);
  expect(await leases()).toEqual([]);
});

describe("GC removes the rules of what is not listed", () => {
  it.each([
    ["with the keys of the ADD", () => ({ ...LAYER_2, ...RULES })],
    ["without them", () => LAYER_2],
  ])("%s, without any record", async (_, today) => {
    await add({ ...call, containerId: "gone" }, made());
    await loseRecords();
    const config = { ...today(), "cni.dev/valid-attachments": [] };
    expect(await cni("GC", { ...call, container: undefined }, config)).toMatchObject({ code: 0, stdout: "" });
    await expectNoRules();
  });
});
