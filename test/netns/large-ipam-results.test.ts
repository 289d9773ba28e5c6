/** IPAM plugins that give hundreds and thousands of addresses and routes. */

import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { cni, del } from "./cni-call.ts";
import { call, container, data, freshNodeWithIpam, node, rules } from "./fresh-node.ts";

freshNodeWithIpam(async (folder) => {
  await writeFile(path.join(folder, "ipam"), `#!/bin/sh\ncat >/dev/null\ncat ${folder}/answer\n`, { mode: 0o755 });
  return folder;
});

const config = (more: object = {}) => ({
  cniVersion: "1.1.0",
  name: "l3-net",
  type: "bridge",
  bridge: "br1",
  ipam: { type: "ipam" },
  ...more,
});

const answer = (ips: object[], routes: object[] = []) =>
  writeFile(path.join(data, "answer"), JSON.stringify({ cniVersion: "1.1.0", ips, routes }));
const manyAddresses = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ address: `10.${i >> 8}.${i & 255}.1/32` }));
const manyRoutes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ dst: `172.${16 + (i >> 12)}.${(i >> 4) & 255}.${(i & 15) << 4}/28` }));
const lines = (text: string) => text.trimEnd().split("\n").length;

it.each([300, 10_000])("gives the container %i routes", async (count) => {
  await answer([{ address: "10.5.0.2/24", gateway: "10.5.0.1" }], manyRoutes(count));
  const { code, json } = await cni("ADD", call, config());
  expect([code, json?.routes]).toEqual([0, manyRoutes(count)]);
  expect(lines(await container.ip("-4", "route", "list", "root", "172.16.0.0/12"))).toBe(count);
  await del(call, config());
});

it("checks 2000 addresses and 2000 routes", async () => {
  await answer(manyAddresses(2000), manyRoutes(2000));
  const { code, json: prevResult } = await cni("ADD", call, config());
  expect(code).toBe(0);
  const checked = { ...config(), prevResult };
  expect(await cni("CHECK", call, checked)).toMatchObject({ code: 0, stdout: "" });
  await container.ip("route", "delete", "172.16.100.0/28");
  expect((await cni("CHECK", call, checked)).json).toMatchObject({
    code: 106,
    msg: expect.stringContaining("172.16.100.0/28"),
  });
});

it("gives the container 1000 addresses, masquerades them, and takes them back", async () => {
  await answer(manyAddresses(1000));
  const masquerading = config({ ipMasq: true, ipMasqBackend: "nftables" });
  const { code, json } = await cni("ADD", call, masquerading);
  expect([code, json?.ips]).toEqual([0, expect.objectContaining({ length: 1000 })]);
  expect(lines(await container.ip("-4", "-oneline", "address", "show", "net1"))).toBe(1000);
  expect((await rules()).match(/ip saddr /g)).toHaveLength(1000);
  await del(call, masquerading);
  expect(await rules()).not.toContain("ip saddr");
  expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo", "br1"]);
});

it("leaves nothing when one of many routes is refused", async () => {
  await answer([{ address: "10.5.0.2/24" }], [...manyRoutes(300), { dst: "192.0.2.0/24", gw: "203.0.113.1" }]);
  const { json } = await cni("ADD", call, config());
  expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("add a route") });
  const left = [...(await node.links()), ...(await container.links())];
  expect(left.map(({ ifname }) => ifname)).toEqual(["lo", "lo"]);
});
