/** Long container ids: what they may name, and how they are refused where they may not. */

import { writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { add, type CniCall, type CniResult, cni, del, pluginPath } from "./cni-call.ts";
import { container, data, freshNodeWithIpam, node, call as oneCall, testbed } from "./fresh-node.ts";

freshNodeWithIpam(async (folder) => folder);

const id = (length: number) => "c".repeat(length - 4) + String(length).padStart(4, "0");
const withId = (length: number): CniCall => ({ ...oneCall, containerId: id(length) });
const config = { cniVersion: "1.1.0", name: "l2-net", type: "bridge", bridge: "br1" };

describe("bridge", () => {
  const ports = async () => (await node.links()).filter(({ master }) => master === "br1").length;
  const gc = (...valid: object[]) => cni("GC", { node }, { ...config, "cni.dev/valid-attachments": valid });

  it.each([216, 230, 252, 4000])("attaches a container with an id of %i characters", async (length) => {
    const prevResult = await add(withId(length), config);
    expect(await cni("CHECK", withId(length), { ...config, prevResult })).toMatchObject({ code: 0, stdout: "" });
    expect(await gc({ containerID: id(length), ifname: "net1" })).toMatchObject({ code: 0, stdout: "" });
    expect(await ports()).toBe(1);
    await del(withId(length), config);
    expect(await ports()).toBe(0);
  });

  it("tells long ids apart that begin alike, also at GC", async () => {
    const other = { ...withId(252), containerId: `${id(252).slice(0, -1)}x`, container: await testbed.container() };
    const { interfaces } = await add(withId(252), config);
    await add(other, config);
    expect(await gc({ containerID: id(252), ifname: "net1" })).toMatchObject({ code: 0, stdout: "" });
    expect((await node.links()).filter(({ master }) => master === "br1")).toMatchObject([
      { ifname: interfaces[1]?.name },
    ]);
  });

  it("refuses an id that is too long for the rules of macspoofchk, and has none of it to delete", async () => {
    const checked = { ...config, macspoofchk: true };
    await add(withId(233), checked);
    await del(withId(233), checked);
    const { json } = await cni("ADD", withId(234), checked);
    expect(json).toMatchObject({ code: 4, msg: expect.stringContaining("CNI_CONTAINERID has 234 characters") });
    expect(await ports()).toBe(0);
    await del(withId(234), checked);
    await del(withId(4000), { ...checked, ipMasq: true, ipMasqBackend: "nftables" });
  });
});

describe("tuning", () => {
  let result: CniResult;
  beforeEach(async () => {
    result = await add(oneCall, config);
  });

  const tuning = (more: object) => ({ ...config, type: "tuning", mtu: 1400, prevResult: result, ...more });
  const tuned = async (length: number): Promise<CniCall> => ({
    ...withId(length),
    executable: await pluginPath("tuning"),
  });

  it("refuses an id that no file can be named after, and has nothing to restore for it", async () => {
    await add(await tuned(241), tuning({}));
    await del(await tuned(241), tuning({}));
    const { json } = await cni("ADD", await tuned(242), tuning({}));
    expect(json).toMatchObject({ code: 4, msg: expect.stringContaining("has room for 241") });
    expect(await container.link("net1")).toMatchObject({ mtu: 1500 });
    for (const length of [242, 252, 4000]) await del(await tuned(length), tuning({}));
    await add(await tuned(4000), tuning({ mtu: 0, sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } }));
  });

  it("has nothing to restore where there is a file instead of a folder", async () => {
    const file = path.join(data, "file");
    await writeFile(file, "");
    await del(await tuned(8), tuning({ dataDir: `${file}/below` }));
    const blocked = "mkdir -p /run && rm -rf /run/cni && touch /run/cni";
    expect(await node.run(["/bin/sh", "-c", blocked], { env: oneCall.env ?? {} })).toMatchObject({ code: 0 });
    await del(await tuned(8), tuning({}));
    await del(oneCall, config);
  });
});
