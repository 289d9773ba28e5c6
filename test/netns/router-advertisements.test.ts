/** `acceptRa`: whether the container's interface takes addresses and routes from routers on the bridge. */

import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { searchPath } from "../cluster/requirements.ts";
import { add, cni } from "./cni-call.ts";
import { routerAdvertisement, sendFrames } from "./frames.ts";
import { call, container, freshNodeWithIpam, node } from "./fresh-node.ts";

freshNodeWithIpam(() => buildPeers(process.env));

const LAYER_2 = { cniVersion: "1.1.0", name: "ra-net", type: "bridge", bridge: "br1" };
const ipam = { type: "static", addresses: [{ address: "fd00:5::2/64" }] };
const SETTINGS = "/proc/sys/net/ipv6/conf/net1";
const ON = "1\n1\n";
const OFF = "0\n0\n";

async function inContainer(command: string): Promise<string> {
  const { code, stdout, stderr } = await container.run(["/bin/sh", "-c", command], { env: { PATH: searchPath() } });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

const settings = () => inContainer(`cat ${SETTINGS}/accept_ra ${SETTINGS}/autoconf`);

/** Global addresses and default routes of the container, after it got an advertisement from the bridge. */
async function afterAdvertisement(): Promise<{ addresses: string[]; gateways: string[] }> {
  await sendFrames(node, "br1", [routerAdvertisement("2001:db8:7::")]);
  const advertisements = () => inContainer("sed -n 's/^Icmp6InType134[ \t]*//p' /proc/net/dev_snmp6/net1");
  await expect.poll(advertisements).toBe("1\n");
  const links: { addr_info: { local?: string; scope: string }[] }[] = JSON.parse(
    await container.ip("-json", "-6", "address", "show", "dev", "net1"),
  );
  const addresses = links.flatMap(({ addr_info }) => addr_info).filter(({ scope }) => scope === "global");
  const routes: { gateway?: string }[] = JSON.parse(await container.ip("-json", "-6", "route", "show", "default"));
  return {
    addresses: addresses.flatMap(({ local }) => local ?? []).sort(),
    gateways: routes.flatMap(({ gateway }) => gateway ?? []),
  };
}

const FROM_ROUTER = expect.stringMatching(/^2001:db8:7:/);

describe.each<[string, object]>([
  ["on layer 2", LAYER_2],
  ["with IPAM", { ...LAYER_2, ipam }],
])("an interface %s", (_, config) => {
  const own = "ipam" in config ? ["fd00:5::2"] : [];

  it.each([{}, { acceptRa: true }])("takes what a router gives, as the kernel has it, with %j", async (keys) => {
    await add(call, { ...config, ...keys });
    expect(await settings()).toBe(ON);
    expect(await afterAdvertisement()).toEqual({ addresses: [FROM_ROUTER, ...own], gateways: ["fe80::1"] });
  });

  it("takes nothing from a router where acceptRa is false", async () => {
    const deaf = { ...config, acceptRa: false };
    const prevResult = await add(call, deaf);
    expect(await settings()).toBe(OFF);
    expect(await afterAdvertisement()).toEqual({ addresses: own, gateways: [] });
    expect(await cni("CHECK", call, { ...deaf, prevResult })).toMatchObject({ code: 0, stdout: "" });
  });
});

describe("acceptRa: false", () => {
  const deaf = { ...LAYER_2, acceptRa: false };

  it.each([{ quiet: true }, { disableContainerInterface: true }])(
    "holds for an interface with %j too",
    async (keys) => {
      await add(call, { ...deaf, ...keys });
      expect(await settings()).toBe(OFF);
    },
  );

  it("changes nothing for an interface whose MTU is too small for IPv6", async () => {
    const prevResult = await add(call, { ...deaf, mtu: 1000 });
    expect(await cni("CHECK", call, { ...deaf, mtu: 1000, prevResult })).toMatchObject({ code: 0, stdout: "" });
  });

  it.each(["accept_ra", "autoconf"])("fails CHECK when somebody switched %s on again", async (setting) => {
    const prevResult = await add(call, deaf);
    await inContainer(`echo 1 >${SETTINGS}/${setting}`);
    const { code, json } = await cni("CHECK", call, { ...deaf, prevResult });
    const msg = `the attachment is not as ADD left it: net.ipv6.conf.net1.${setting} is 1, not 0`;
    expect([code, json]).toEqual([1, expect.objectContaining({ code: 106, msg })]);
    expect(await cni("CHECK", call, { ...LAYER_2, prevResult })).toMatchObject({ code: 0, stdout: "" });
  });

  describe("where /proc/sys is read-only", () => {
    const readOnly = async () => {
      const mount = "mount --rbind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys";
      expect(await node.run(["/bin/sh", "-c", mount], { env: { PATH: searchPath() } })).toMatchObject({ code: 0 });
    };

    it("is refused in one sentence, and nothing is made", async () => {
      await node.ip("link", "add", "br1", "up", "type", "bridge");
      await readOnly();
      const { code, json } = await cni("ADD", call, deaf);
      const msg =
        '"acceptRa": false can\'t set net.ipv6.conf.net1.accept_ra to 0: EROFS, read-only file system: the runtime must start its plugins where /proc/sys is writable';
      expect([code, json]).toEqual([1, { cniVersion: "1.1.0", code: 101, msg }]);
      expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo", "br1"]);
      await add(call, LAYER_2);
      expect(await settings()).toBe(ON);
    });

    it("works for a container whose default it is", async () => {
      const defaults = "/proc/sys/net/ipv6/conf/default";
      await inContainer(`echo 0 >${defaults}/accept_ra && echo 0 >${defaults}/autoconf`);
      await readOnly();
      await add(call, deaf);
      expect(await settings()).toBe(OFF);
    });
  });
});
