/** CHECK of `bridge` in a chain whose `tuning` gives the container's interface another MTU. */

import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, type CniCall, type CniResult, cni, pluginPath } from "./cni-call.ts";
import { call, container, freshNode, node } from "./fresh-node.ts";

freshNode();

const ours = async () => ({ ...call, executable: await pluginPath("tuning") });
const reference = async () => ({ ...call, executable: path.join(await buildPeers(process.env), "tuning") });

const bridge = (more: object) => ({ name: "net", type: "bridge", bridge: "br1", ...more });
const tuning = (more: object) => ({ name: "net", type: "tuning", ...more });
const check = (more: object, prevResult: CniResult, one: CniCall = call) => cni("CHECK", one, { ...more, prevResult });
const passes = { code: 0, stdout: "" };
const fails = (text: string) => ({ json: { code: 106, msg: expect.stringContaining(text) } });

describe.each(["1.0.0", "1.1.0"])("in version %s", (cniVersion) => {
  it.each([
    ["with tuning", ours, {}],
    ["with tuning, without an MTU of its own", ours, { mtu: undefined }],
    ["with the reference's tuning", reference, {}],
  ])("passes %s", async (_, plugin, more) => {
    const made = bridge({ cniVersion, mtu: 1400, ...more });
    const tuned = tuning({ cniVersion, mtu: 1300 });
    const prevResult = await add(await plugin(), { ...tuned, prevResult: await add(call, made) });
    expect((await container.link("net1"))?.mtu).toBe(1300);
    expect(await check(made, prevResult)).toMatchObject(passes);
    expect(await check(tuned, prevResult, await ours())).toMatchObject(passes);
  });

  it("finds a wrong MTU where tuning changed something else", async () => {
    const made = bridge({ cniVersion, mtu: 1400 });
    const tuned = tuning({ cniVersion, txQLen: 77 });
    const prevResult = await add(await ours(), { ...tuned, prevResult: await add(call, made) });
    expect(await check(made, prevResult)).toMatchObject(passes);
    await container.ip("link", "set", "net1", "mtu", "1300");
    expect(await check(made, prevResult)).toMatchObject(fails("interface net1 has MTU 1300, not 1400"));
  });

  it("finds a wrong MTU of the node's end, and one that tuning did not give", async () => {
    const made = bridge({ cniVersion, mtu: 1400 });
    const tuned = tuning({ cniVersion, mtu: 1300 });
    const prevResult = await add(await ours(), { ...tuned, prevResult: await add(call, made) });
    await container.ip("link", "set", "net1", "mtu", "1200");
    expect(await check(tuned, prevResult, await ours())).toMatchObject(fails("interface net1 has MTU 1200, not 1300"));
    if (cniVersion === "1.1.0") {
      expect(await check(made, prevResult)).toMatchObject(fails("interface net1 has MTU 1200, not 1300"));
    }
    await container.ip("link", "set", "net1", "mtu", "1300");
    await node.ip("link", "set", prevResult.interfaces[1]?.name ?? "", "mtu", "1300");
    expect(await check(made, prevResult)).toMatchObject(fails("has MTU 1300, not 1400"));
  });
});
