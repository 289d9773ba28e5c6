/** `allowedMacs` beside `macspoofchk`: what a guest's frames may come from, and that nothing of it stays. */

import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { searchPath } from "../cluster/requirements.ts";
import { add, cni, del } from "./cni-call.ts";
import { frameFrom, sendFrames } from "./frames.ts";
import { call, container, freshNodeWithIpam, node, rules } from "./fresh-node.ts";

const MAC = "02:5d:1c:00:00:a3";
const CHAIN = "cni-br-iface-container-net1";
const COMMENT = "macspoofchk-container-net1";
/** Quiet: the only frames are those that a test sends. */
const NETWORK = { cniVersion: "1.1.0", name: "l2-net", type: "bridge", bridge: "br1", quiet: true };
const checked = (allowedMacs?: readonly string[]) => ({
  ...NETWORK,
  macspoofchk: true,
  runtimeConfig: { mac: MAC },
  ...(allowedMacs === undefined ? {} : { allowedMacs }),
});
const VRRP = "00:00:5e:00:01:0a";
const ALLOWED = [VRRP, "0000.5E00.0200/40", "02:00:00:00:30:00/36"];

// The reference needs PATH for nft.
freshNodeWithIpam(() => buildPeers(process.env));

const ours = async () => (await rules()).split("\n").filter((line) => line.includes(COMMENT));

/** Sources that the bridge knows behind the port: it learns them from what passes. */
async function learned(port: string): Promise<string[]> {
  const { stdout } = await node.run(["bridge", "-json", "fdb", "show", "brport", port], {
    env: { PATH: searchPath() },
  });
  const entries: { mac: string; state: string }[] = JSON.parse(stdout);
  return [...new Set(entries.filter(({ state }) => state !== "permanent").map(({ mac }) => mac))].sort();
}

/** Which of these sources pass; the own one comes last, and passes. */
async function passing(port: string, sources: readonly string[]): Promise<string[]> {
  await sendFrames(container, "net1", [...sources, MAC].map(frameFrom));
  await expect.poll(() => learned(port)).toContain(MAC);
  return (await learned(port)).filter((mac) => mac !== MAC);
}

async function nft(...commands: string[]): Promise<void> {
  const { code, stderr } = await node.run(["nft", commands.join("; ")], { env: { PATH: searchPath() } });
  expect([code, stderr]).toEqual([0, ""]);
}

describe("allowedMacs", () => {
  const inside = [VRRP, "00:00:5e:00:02:00", "00:00:5e:00:02:ff", "02:00:00:00:30:00", "02:00:00:00:3f:ff"];
  const outside = [
    ...["00:00:5e:00:01:0b", "00:00:5e:00:01:ff", "00:00:5e:00:03:00", "02:00:00:00:2f:ff", "02:00:00:00:40:00"],
    ...["02:5d:1c:00:00:a2", "02:5d:1c:00:00:a4", "80:00:5e:00:01:0a"],
  ];

  it("let frames from addresses and prefixes pass beside the interface's own, and no others", async () => {
    const { interfaces } = await add(call, checked(ALLOWED));
    expect(await passing(interfaces[1]?.name ?? "", [...outside, ...inside])).toEqual(inside);
  });

  it.each([[undefined], [[]]])("that are %j let nothing pass but the interface's own", async (allowed) => {
    const { interfaces } = await add(call, checked(allowed));
    expect(await passing(interfaces[1]?.name ?? "", [...outside, ...inside])).toEqual([]);
    expect(await ours()).toHaveLength(4);
  });

  it("mean nothing without the spoof check, where all frames pass", async () => {
    const { interfaces } = await add(call, { ...checked(ALLOWED), macspoofchk: false });
    const all = [...outside, ...inside].sort();
    expect(await passing(interfaces[1]?.name ?? "", all)).toEqual(all);
    expect(await rules()).not.toContain("cni-br-iface");
  });

  it("may be 64, whose rules are one transaction and go with the attachment", async () => {
    const most = Array.from({ length: 64 }, (_, i) => `02:00:00:${i.toString(16).padStart(2, "0")}:00:00/32`);
    const prevResult = await add(call, checked(most));
    expect(await ours()).toHaveLength(4 + most.length);
    expect(await cni("CHECK", call, { ...checked(most), prevResult })).toMatchObject({ code: 0, stdout: "" });
    expect(await passing(prevResult.interfaces[1]?.name ?? "", ["02:00:00:3f:ff:ff", "02:00:00:40:00:00"])).toEqual([
      "02:00:00:3f:ff:ff",
    ]);
    await del(call, checked(most));
    expect(await rules()).not.toContain("cni-br-iface");
  });

  it("go with a DEL that does not know them, and with GC", async () => {
    await add(call, checked(ALLOWED));
    await del(call, NETWORK);
    expect(await rules()).not.toContain("cni-br-iface");
    await add(call, checked(ALLOWED));
    const none = { ...NETWORK, "cni.dev/valid-attachments": [] };
    expect(await cni("GC", { ...call, container: undefined }, none)).toMatchObject({ code: 0, stdout: "" });
    expect(await rules()).not.toContain("cni-br-iface");
  });

  it("do not disturb the reference, which ignores them and removes their rules", async () => {
    const reference = { ...call, executable: path.join(await buildPeers(process.env), "bridge") };
    await add(call, checked(ALLOWED));
    expect(await ours()).toHaveLength(4 + ALLOWED.length);
    await del(reference, checked(ALLOWED));
    expect(await rules()).not.toContain("cni-br-iface");
    const { interfaces } = await add(reference, checked(ALLOWED));
    expect(await passing(interfaces[1]?.name ?? "", [VRRP])).toEqual([]);
    await del(call, checked(ALLOWED));
    expect(await rules()).not.toContain("cni-br-iface");
  });

  it.each([["00:00:5e:00:01:0a/40"], ["01:00:5e:00:00:12"], ["vrrp"]])(
    "that have %s are refused, and nothing is made",
    async (entry) => {
      for (const command of ["ADD", "STATUS"]) {
        const { code, json } = await cni(command, call, checked([VRRP, entry]));
        const msg = expect.stringContaining(`"allowedMacs[1]": "${entry}"`);
        expect([code, json]).toEqual([1, expect.objectContaining({ code: 7, msg })]);
      }
      expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
    },
  );

  describe("are what CHECK looks for, which", () => {
    const rule = (from: string, verdict = "return") =>
      `add rule bridge nat ${CHAIN}-mac ether saddr ${from} ${verdict} comment "${COMMENT}"`;
    const end = `add rule bridge nat ${CHAIN}-mac drop comment "${COMMENT}"`;
    const written = (...from: string[]) => [
      `flush chain bridge nat ${CHAIN}-mac`,
      ...from.map((one) => rule(one)),
      end,
    ];
    const PREFIX = "& ff:ff:ff:ff:ff:00 == 00:00:5e:00:02:00";
    const WIDER = "& ff:ff:ff:ff:fe:00 == 00:00:5e:00:02:00";
    const config = checked([VRRP, "00:00:5e:00:02:00/40"]);

    it("is content with the same rules from another hand", async () => {
      const prevResult = await add(call, config);
      await nft(...written(MAC, VRRP, PREFIX));
      expect(await cni("CHECK", call, { ...config, prevResult })).toMatchObject({ code: 0, stdout: "" });
    });

    it.each([
      ["a missing address", written(MAC, PREFIX)],
      ["a missing prefix", written(MAC, VRRP)],
      ["a wider prefix", written(MAC, VRRP, WIDER)],
      ["one more address", written(MAC, VRRP, PREFIX, "00:00:5e:00:01:0b")],
      ["all but the prefix", written(MAC, VRRP, PREFIX.replace("==", "!="))],
      ["a missing own address", written(VRRP, PREFIX)],
    ])("notices %s", async (_, commands) => {
      const prevResult = await add(call, config);
      await nft(...commands);
      const { code, json } = await cni("CHECK", call, { ...config, prevResult });
      const msg = expect.stringContaining(`do not let ${MAC} and "allowedMacs" pass and nothing else`);
      expect([code, json]).toEqual([1, expect.objectContaining({ code: 106, msg })]);
    });

    it("notices the rules of an ADD that had none", async () => {
      const prevResult = await add(call, checked());
      expect((await cni("CHECK", call, { ...config, prevResult })).json).toMatchObject({ code: 106 });
    });
  });
});
