import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, cni, del } from "./cni-call.ts";
import { call, container, data, freshNodeWithIpam, node, rules, testbed } from "./fresh-node.ts";

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

  it("passes CHECK beside another network's, whose default route the kernel puts into one with its own", async () => {
    const first = config({ isDefaultGateway: true });
    const ranges = [[{ subnet: "10.6.0.0/24" }], [{ subnet: "fd00:6::/64" }]];
    const ipam = { type: "host-local", dataDir: data, ranges };
    const second = config({ name: "l3-other", bridge: "br2", isDefaultGateway: true, ipam });
    const [call1, call2] = [call, { ...call, ifname: "net2" }];
    const prevResult = await add(call1, first);
    const prevResult2 = await add(call2, second);
    expect(await container.ip("-6", "route", "show", "default")).toMatch(
      /nexthop via fd00:5::1 .*\n.*nexthop via fd00:6::1/,
    );
    expect(await cni("CHECK", call1, { ...first, prevResult })).toMatchObject({ code: 0, stdout: "" });
    expect(await cni("CHECK", call2, { ...second, prevResult: prevResult2 })).toMatchObject({ code: 0, stdout: "" });
    await container.ip("-6", "route", "delete", "default", "via", "fd00:5::1", "dev", "net1");
    expect((await cni("CHECK", call1, { ...first, prevResult })).json).toMatchObject({
      code: 106,
      msg: expect.stringContaining("the route to ::/0 is gone"),
    });
    expect(await cni("CHECK", call2, { ...second, prevResult: prevResult2 })).toMatchObject({ code: 0, stdout: "" });
  });

  it("passes CHECK with a route of table 0, by which the kernel means the main one", async () => {
    const routes = [{ dst: "192.0.2.0/24", gw: "10.5.0.1", table: 0 }];
    const routed = config({ ipam: { type: "static", addresses: [{ address: "10.5.0.2/24" }], routes } });
    const prevResult = await add(call, routed);
    expect(await cni("CHECK", call, { ...routed, prevResult })).toMatchObject({ code: 0, stdout: "" });
    await container.ip("route", "delete", "192.0.2.0/24");
    await container.ip("route", "add", "192.0.2.0/24", "via", "10.5.0.1", "table", "77");
    expect((await cni("CHECK", call, { ...routed, prevResult })).json).toMatchObject({ code: 106 });
  });

  it("fails CHECK when the bridge has another MAC than the one that its containers know", async () => {
    const gateway = config({ isGateway: true });
    const prevResult = await add(call, gateway);
    expect(await cni("CHECK", call, { ...gateway, prevResult })).toMatchObject({ code: 0, stdout: "" });
    await node.ip("link", "set", "br1", "address", "02:00:00:00:00:99");
    expect((await cni("CHECK", call, { ...gateway, prevResult })).json).toMatchObject({
      code: 106,
      msg: expect.stringContaining(`br1 has MAC 02:00:00:00:00:99, not ${prevResult.interfaces[0]?.mac}`),
    });
  });

  it("agrees with others that begin at once on a bridge that none of them finds what its MAC is", async () => {
    const gateway = config({ isGateway: true });
    const calls = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => ({
        ...call,
        container: await testbed.container(),
        containerId: `c${i}`,
      })),
    );
    const results = await Promise.all(calls.map((one) => add(one, gateway)));
    const mac = (await node.link("br1"))?.address;
    expect(results.map(({ interfaces }) => interfaces[0]?.mac)).toEqual(calls.map(() => mac));
  });

  it.each(["10.5.0.1/24", "fd00:5::1/64"])(
    "fails CHECK when the bridge lost its gateway address %s",
    async (address) => {
      const gateway = config({ isGateway: true });
      const prevResult = await add(call, gateway);
      await node.ip("address", "delete", address, "dev", "br1");
      const { json } = await cni("CHECK", call, { ...gateway, prevResult });
      expect(json).toMatchObject({
        code: 106,
        msg: expect.stringContaining(`br1 lost its gateway address ${address}`),
      });
    },
  );

  it("passes CHECK where one of its gateways took another's place on the bridge", async () => {
    const addresses = ["10.5.0.2/24", "fd00:5::2/64", "10.6.0.2/24"].map((address) => ({ address }));
    const forced = config({ isGateway: true, forceAddress: true, ipam: { type: "static", addresses } });
    const prevResult = await add(call, forced);
    expect(await cni("CHECK", call, { ...forced, prevResult })).toMatchObject({ code: 0, stdout: "" });
    await node.ip("address", "delete", "10.6.0.1/24", "dev", "br1");
    expect((await cni("CHECK", call, { ...forced, prevResult })).json).toMatchObject({ code: 106 });
  });

  it("passes CHECK when the reference made it", async () => {
    const executable = path.join(await buildPeers(process.env), "bridge");
    const masqueraded = config({ isDefaultGateway: true, ipMasq: true, ipMasqBackend: "nftables", mtu: 1400 });
    const prevResult = await add({ ...call, executable }, masqueraded);
    expect(await cni("CHECK", call, { ...masqueraded, prevResult })).toMatchObject({ code: 0, stdout: "" });
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

it("quiet keeps the kernel from speaking IPv6 on the container's interface", async () => {
  await add(call, { cniVersion: "1.1.0", name: "quiet", type: "bridge", bridge: "br1", quiet: true });
  expect(await container.ip("-6", "address", "show", "net1")).toBe("");
});

it("VLANs are refused with the kernel's missing feature named, also by STATUS before there is a bridge, or set", async () => {
  const config = { cniVersion: "1.1.0", name: "vlan", type: "bridge", bridge: "br1", vlan: 100 };
  const status = await cni("STATUS", call, config);
  expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
  const { code, json } = await cni("ADD", call, config);
  expect(status.code).toBe(code);
  if (code === 0) return;
  expect(status.json).toMatchObject({ code: 50, msg: json?.msg });
  expect(json).toMatchObject({ code: 109, msg: expect.stringContaining("CONFIG_BRIDGE_VLAN_FILTERING") });
  expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
});
