/** GC removes everything of the attachments that the runtime does not list, whatever became of their namespaces. */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, cni, pluginPath } from "./cni-call.ts";
import { call, data, freshNodeWithIpam, node, rules } from "./fresh-node.ts";

freshNodeWithIpam(async (folder) => {
  const hostLocal = path.join(await buildPeers(process.env), "host-local");
  const script = `#!/bin/sh\nif [ $CNI_COMMAND = GC ]; then cat >${folder}/gc; else exec ${hostLocal}; fi\n`;
  await writeFile(path.join(folder, "ipam"), script, { mode: 0o755 });
  return folder;
});

const config = (more: object = {}) => ({
  cniVersion: "1.1.0",
  name: "l3-net",
  type: "bridge",
  bridge: "br1",
  isGateway: true,
  ipMasq: true,
  ipMasqBackend: "nftables",
  macspoofchk: true,
  ipam: { type: "ipam", dataDir: data, ranges: [[{ subnet: "10.5.0.0/24" }]] },
  ...more,
});

const valid = (...attachments: object[]) => ({ "cni.dev/valid-attachments": attachments });
const gc = (more: object) => cni("GC", { ...call, container: undefined }, config(more));
/** host-local says nothing to GC and does nothing, so a program before it keeps what it is given. */
const toldIpam = () => readFile(path.join(data, "gc"), "utf8");
const ports = async () => (await node.links()).filter(({ master }) => master === "br1").length;
const list = async (folder: string) =>
  (await node.run(["sh", "-c", `ls /run/cni/cluster-network-addons/${folder}`], { env: { PATH: "/usr/bin:/bin" } }))
    .stdout;
const records = () => list("bridge");

it("removes links, spoof checks, masquerading and records of what is not listed, nothing else, and tells IPAM", async () => {
  await add({ ...call, containerId: "kept", ifname: "net1" }, config());
  await add({ ...call, containerId: "gone", ifname: "net2" }, config());
  await add({ ...call, containerId: "gone", ifname: "net3" }, config({ name: "other-net" }));
  expect(await gc(valid({ containerID: "kept", ifname: "net1" }))).toMatchObject({ code: 0, stdout: "" });
  expect(await ports()).toBe(2);
  expect(await toldIpam()).toBe(JSON.stringify(config(valid({ containerID: "kept", ifname: "net1" }))));
  const left = await rules();
  expect(left).toContain("macspoofchk-kept-net1");
  expect(left).toContain("id: kept");
  expect(left).not.toContain("gone-net2");
  expect(left).not.toContain("ip saddr 10.5.0.3");
  expect(left).toContain("macspoofchk-gone-net3");
});

it("removes what is left of attachments whose namespaces are gone", async () => {
  const { container } = call;
  await add({ ...call, containerId: "gone", ifname: "net1" }, config());
  const before = await records();
  await container?.[Symbol.asyncDispose]();
  await expect.poll(ports).toBe(0);
  expect(await gc(valid())).toMatchObject({ code: 0, stdout: "" });
  const left = await rules();
  expect(left).not.toContain("macspoofchk-gone");
  expect(left).not.toContain("ip saddr");
  expect([before, await records()]).toEqual([expect.stringMatching(/^veth[0-9a-f]{8}\.json\n$/), ""]);
});

it("leaves the agent nothing to reap of its network, but those with addresses, which only a DEL releases", async () => {
  const layer2 = { ipam: undefined, isGateway: undefined, ipMasq: undefined };
  await add({ ...call, containerId: "kept", ifname: "net1" }, config(layer2));
  await add({ ...call, containerId: "gone", ifname: "net2" }, config(layer2));
  await add({ ...call, containerId: "gone", ifname: "net3" }, config({ ...layer2, name: "other-net" }));
  await add({ ...call, containerId: "gone", ifname: "net4" }, config());
  const listed = valid({ containerID: "kept", ifname: "net1" });
  expect(await gc({ ...layer2, ...listed })).toMatchObject({ code: 0, stdout: "" });
  const left = ["gone~net3~bridge.json", "gone~net4~bridge.json", "kept~net1~bridge.json"];
  expect((await list("attachments")).trim().split("\n")).toEqual(left);
});

it("removes nothing without the list, because then nothing is known to be unused, and tells IPAM all the same", async () => {
  await add({ ...call, containerId: "kept", ifname: "net1" }, config());
  const before = [await rules(), await records(), await list("attachments")];
  const { code, stdout, stderr } = await gc({});
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain('has no "cni.dev/valid-attachments"');
  expect(await toldIpam()).toBe(JSON.stringify(config()));
  expect([await rules(), await records(), await list("attachments")]).toEqual(before);
  expect(await ports()).toBe(1);
});

it("takes a list that is null for an empty one", async () => {
  await add({ ...call, containerId: "gone", ifname: "net1" }, config());
  expect(await gc({ "cni.dev/valid-attachments": null })).toMatchObject({ code: 0, stdout: "", stderr: "" });
  expect(await ports()).toBe(0);
});

it("of tuning restores and forgets nothing without the list", async () => {
  const executable = await pluginPath("tuning");
  const tuning = { cniVersion: "1.1.0", name: "l3-net", type: "tuning", mtu: 1400 };
  const prevResult = await add(call, config());
  await add({ ...call, executable }, { ...tuning, prevResult });
  expect(await cni("GC", { node, executable }, tuning)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("GC removes nothing"),
  });
  expect(await list("../tuning")).toBe("container_net1.json\n");
});

it("may be called when there is nothing", async () => {
  expect(await gc(valid({ containerID: "never", ifname: "net1" }))).toMatchObject({ code: 0, stdout: "" });
});
