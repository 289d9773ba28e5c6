import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, cni, del } from "./cni-call.ts";
import { call, container, data, freshNodeWithIpam, node, rules } from "./fresh-node.ts";

freshNodeWithIpam(async () => `/nowhere:${await buildPeers(process.env)}`);

const config = (more: object = {}) => ({
  cniVersion: "1.1.0",
  name: "l3-net",
  type: "bridge",
  bridge: "br1",
  ipam: { type: "host-local", dataDir: data, ranges: [[{ subnet: "10.5.0.0/24" }], [{ subnet: "fd00:5::/64" }]] },
  ...more,
});

const leases = async () => (await readdir(path.join(data, "l3-net"))).filter((name) => /^[0-9a-f]+[.:]/.test(name));

describe("an attachment with addresses", () => {
  it("reaches its gateway on the bridge in both families, passes CHECK, and gives everything back", async () => {
    const gateway = config({ isDefaultGateway: true });
    const prevResult = await add(call, gateway);
    expect(prevResult).toMatchObject({
      ips: [
        { interface: 2, address: "10.5.0.2/24", gateway: "10.5.0.1" },
        { interface: 2, address: "fd00:5::2/64", gateway: "fd00:5::1" },
      ],
      routes: [
        { dst: "0.0.0.0/0", gw: "10.5.0.1" },
        { dst: "::/0", gw: "fd00:5::1" },
      ],
    });
    expect(await container.ip("route", "get", "192.0.2.1")).toContain("via 10.5.0.1");
    expect(await container.ip("-6", "route", "get", "2001:db8::1")).toContain("via fd00:5::1");
    expect(await cni("CHECK", call, { ...gateway, prevResult })).toMatchObject({ code: 0, stdout: "" });
    await container.ip("address", "delete", "10.5.0.2/24", "dev", "net1");
    expect((await cni("CHECK", call, { ...gateway, prevResult })).json).toMatchObject({
      code: 106,
      msg: expect.stringContaining("lost its address 10.5.0.2/24"),
    });
    expect(await leases()).toHaveLength(2);
    await del(call, gateway);
    expect(await leases()).toEqual([]);
  });

  it.each(["0.1.0", "0.2.0"])("is told of in version %s by its addresses", async (cniVersion) => {
    expect(await add(call, config({ cniVersion }))).toMatchObject({
      cniVersion,
      ip4: { ip: "10.5.0.2/24", gateway: "10.5.0.1" },
      ip6: { ip: "fd00:5::2/64", gateway: "fd00:5::1" },
    });
  });

  it("gives the address back when a later step fails", async () => {
    await node.ip("link", "add", "br1", "type", "bridge");
    await node.ip("address", "add", "10.6.0.1/24", "dev", "br1");
    const { json } = await cni("ADD", call, config({ isGateway: true }));
    expect(json).toMatchObject({ code: 108, msg: expect.stringContaining("already has an IP address different from") });
    expect(await leases()).toEqual([]);
    expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo", "br1"]);
    await add(call, config({ isGateway: true, forceAddress: true }));
    expect(await node.ip("address", "show", "br1")).not.toContain("10.6.0.1");
  });

  it("is masqueraded by nftables until DEL, which knows neither namespace nor configuration", async () => {
    await add(call, config({ isGateway: true, ipMasq: true, ipMasqBackend: "nftables" }));
    expect(await rules()).toContain("ip saddr 10.5.0.2 ip daddr != 10.5.0.0/24 masquerade");
    await del({ ...call, container: undefined }, config());
    expect(await rules()).not.toContain("10.5.0.2");
  });
});

describe("macspoofchk", () => {
  const checked = { cniVersion: "1.1.0", name: "l2-net", type: "bridge", bridge: "br1", macspoofchk: true };
  const ours = async () => (await rules()).split("\n").filter((line) => line.includes("macspoofchk-container-net1"));

  /** Each chain and rule of a table that was ever made has one more. */
  async function nextHandle(chain: string): Promise<number> {
    const args = ["nft", "--echo", "--handle", "add", "chain", "bridge", "nat", chain];
    const { stdout } = await node.run(args, { env: call.env ?? {} });
    return Number(/ # handle (\d+)/.exec(stdout)?.[1]);
  }

  it("makes one rule in the base chain, one and two in the attachment's, and removes them", async () => {
    const prevResult = await add(call, checked);
    expect(await ours()).toHaveLength(4);
    expect(await cni("CHECK", call, { ...checked, prevResult })).toMatchObject({ code: 0 });
    expect(await cni("STATUS", call, checked)).toMatchObject({ code: 0 });
    await del(call, { ...checked, macspoofchk: false });
    expect(await ours()).toEqual([]);
    expect(await rules()).not.toContain("cni-br-iface");
  });

  it("is found by CHECK also where the container's id is longer than a rule's comment may be", async () => {
    const long = { ...call, containerId: "c".repeat(120) };
    const prevResult = await add(long, checked);
    expect(await cni("CHECK", long, { ...checked, prevResult })).toMatchObject({ code: 0, stdout: "" });
  });

  it("makes its table and base chain anew when somebody flushed them since", async () => {
    await add(call, checked);
    await del(call, checked);
    expect((await node.run(["nft", "flush", "ruleset"], { env: call.env ?? {} })).code).toBe(0);
    await add(call, checked);
    expect(await ours()).toHaveLength(4);
    await del(call, checked);
    expect(await ours()).toEqual([]);
  });

  it("is not begun for an interface that is there without it", async () => {
    await add(call, checked);
    await del(call, checked);
    await add(call, { ...checked, macspoofchk: false });
    const before = await nextHandle("before");
    expect(await cni("ADD", call, checked)).toMatchObject({ code: 1 });
    expect(await nextHandle("after")).toBe(before + 1);
  });

  it("is removed by the reference, and ours removes the reference's", async () => {
    const reference = path.join(await buildPeers(process.env, () => {}), "bridge");
    await add(call, checked);
    await del({ ...call, executable: reference }, checked);
    expect(await ours()).toEqual([]);
    await add({ ...call, executable: reference }, checked);
    expect(await ours()).toHaveLength(4);
    await del(call, checked);
    expect(await ours()).toEqual([]);
  });
});

it("quiet keeps the kernel from speaking IPv6 on the container's interface", async () => {
  await add(call, { cniVersion: "1.1.0", name: "quiet", type: "bridge", bridge: "br1", quiet: true });
  expect(await container.ip("-6", "address", "show", "net1")).toBe("");
});

it("VLANs are refused with the kernel's missing feature named, or set", async () => {
  const config = { cniVersion: "1.1.0", name: "vlan", type: "bridge", bridge: "br1", vlan: 100 };
  const { code, json } = await cni("ADD", call, config);
  if (code === 0) return;
  expect(json).toMatchObject({ code: 109, msg: expect.stringContaining("CONFIG_BRIDGE_VLAN_FILTERING") });
  expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
});
