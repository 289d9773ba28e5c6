import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { hostInterfaceName } from "../../cni-plugins/bridge/attachment.ts";
import { buildPeers } from "../bench/peers.ts";
import { add, cni, del } from "./cni-call.ts";
import { call, freshNodeWithIpam, node, rules } from "./fresh-node.ts";

freshNodeWithIpam(async () => `/nowhere:${await buildPeers(process.env)}`);

describe("macspoofchk", () => {
  const checked = { cniVersion: "1.1.0", name: "l2-net", type: "bridge", bridge: "br1", macspoofchk: true };
  const ours = async () => (await rules()).split("\n").filter((line) => line.includes("macspoofchk-container-net1"));

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

  const reference = async () => path.join(await buildPeers(process.env), "bridge");
  const chain = "cni-br-iface-container-net1";
  const mark = 'comment "macspoofchk-container-net1"';
  const nft = async (...commands: string[]) => {
    const { code, stderr } = await node.run(["nft", commands.join("; ")], { env: call.env ?? {} });
    expect([code, stderr]).toEqual([0, ""]);
  };

  const IN_FORCE = "{ type filter hook prerouting priority -300 ; }";
  describe.each<[string, string[], string]>([
    ["a base chain that is not hooked", ["add chain bridge nat PREROUTING"], "is not hooked as"],
    [
      "a base chain of another hook",
      ["add chain bridge nat PREROUTING { type filter hook output priority -300 ; }"],
      "is not hooked as",
    ],
    [
      "a base chain of another priority",
      ["add chain bridge nat PREROUTING { type filter hook prerouting priority 300 ; }"],
      "is not hooked as",
    ],
    [
      "a base chain that drops",
      ["add chain bridge nat PREROUTING { type filter hook prerouting priority -300 ; policy drop ; }"],
      "has another policy than accept",
    ],
    ["a table that sleeps", ["add table bridge nat { flags dormant ; }"], "table bridge nat is dormant"],
    [
      "a table that sleeps with its base chain",
      [`add chain bridge nat PREROUTING ${IN_FORCE}`, "add table bridge nat { flags dormant ; }"],
      "table bridge nat is dormant",
    ],
  ])("with %s", (_, commands, text) => {
    beforeEach(() => nft("add table bridge nat", ...commands));

    it("is refused and leaves no rule, until the table is gone", async () => {
      const { code, json } = await cni("ADD", call, checked);
      expect([code, json]).toEqual([1, expect.objectContaining({ code: 112, msg: expect.stringContaining(text) })]);
      expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
      expect(await rules()).not.toContain("macspoofchk");
      const status = (await cni("STATUS", { node }, checked)).json;
      expect(status).toMatchObject({ code: 50, msg: expect.stringContaining(text) });
      await nft("delete table bridge nat");
      await add(call, checked);
      expect(await ours()).toHaveLength(4);
    });
  });

  describe("CHECK", () => {
    it("is content with the reference's rules, and with ones that count", async () => {
      const prevResult = await add({ ...call, executable: await reference() }, checked);
      expect(await cni("CHECK", call, { ...checked, prevResult })).toMatchObject({ code: 0, stdout: "" });
      const [flush, pass] = [`flush chain bridge nat ${chain}-mac`, `add rule bridge nat ${chain}-mac`];
      const { mac } = prevResult.interfaces[2] ?? {};
      await nft(flush, `${pass} ether saddr ${mac} counter return ${mark}`, `${pass} counter drop ${mark}`);
      expect(await cni("CHECK", call, { ...checked, prevResult })).toMatchObject({ code: 0, stdout: "" });
    });

    const passing = (verdict: string, from: string) => [
      `flush chain bridge nat ${chain}-mac`,
      `add rule bridge nat ${chain}-mac ether saddr ${from} return ${mark}`,
      `add rule bridge nat ${chain}-mac ${verdict} ${mark}`,
    ];
    const MAC = "02:5d:1c:00:00:a3";
    const port = hostInterfaceName({ network: "l2-net", containerId: "container", ifname: "net1" });
    const checkedBy = (base: string) => [
      `add chain bridge nat ${chain}`,
      `add chain bridge nat ${chain}-mac`,
      `add rule bridge nat ${base} iifname "${port}" jump ${chain} ${mark}`,
      `add rule bridge nat ${chain} jump ${chain}-mac ${mark}`,
      ...passing("drop", MAC).slice(1),
    ];
    it.each<[string, string[], string]>([
      ["rules for another MAC", passing("drop", "02:00:00:00:00:99"), `do not let ${MAC} pass and nothing else`],
      ["rules that let every MAC pass", passing("accept", MAC), `do not let ${MAC} pass and nothing else`],
      [
        "a rule that lets frames pass before",
        [`insert rule bridge nat ${chain}-mac ether saddr 02:00:00:00:00:99 accept`],
        `do not let ${MAC} pass and nothing else`,
      ],
      ["a rule that leads round them", [`insert rule bridge nat ${chain} accept`], "does more than lead to"],
      [
        "rules for another port",
        ["flush chain bridge nat PREROUTING", `add rule bridge nat PREROUTING iifname "veth1" jump ${chain} ${mark}`],
        "no rule of nftables chain PREROUTING sends the frames of veth",
      ],
      [
        "a base chain that is not hooked",
        [
          "delete table bridge nat",
          "add table bridge nat",
          "add chain bridge nat PREROUTING",
          ...checkedBy("PREROUTING"),
        ],
        'PREROUTING of table bridge nat is not hooked as "type filter hook prerouting priority -300"',
      ],
      [
        "a base chain that is hooked elsewhere",
        [
          "delete table bridge nat",
          "add table bridge nat",
          "add chain bridge nat PREROUTING { type filter hook output priority -300 ; }",
          ...checkedBy("PREROUTING"),
        ],
        'PREROUTING of table bridge nat is not hooked as "type filter hook prerouting priority -300"',
      ],
      [
        "a table that somebody put to sleep",
        ["add table bridge nat { flags dormant ; }"],
        "table bridge nat is dormant",
      ],
      ["rules that are gone", ["flush chain bridge nat PREROUTING"], "the rules that check the MAC of net1 are gone"],
    ])("notices %s", async (_, commands, text) => {
      const config = { ...checked, runtimeConfig: { mac: MAC } };
      const prevResult = await add(call, config);
      await nft(...commands);
      const { code, json } = await cni("CHECK", call, { ...config, prevResult });
      expect([code, json]).toEqual([1, expect.objectContaining({ code: 106, msg: expect.stringContaining(text) })]);
    });
  });
});
