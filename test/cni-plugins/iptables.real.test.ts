import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findExecutable } from "../cluster/requirements.ts";
import { add, type CniCall, cni, del } from "../netns/cni-call.ts";
import { BRIDGE, PreparedNode } from "../netns/prepared-node.ts";
import { lacks } from "../tools/debian/programs.ts";

const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const CONFIG = {
  ...{ cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: BRIDGE },
  ...{ isGateway: true, ipMasq: true, ipMasqBackend: "iptables", ipam: IPAM },
};
const OTHER = "other";

const programs = path.dirname(findExecutable("iptables") ?? "");

let node: PreparedNode;
let withIptables: CniCall;
let without: CniCall;

beforeEach(async () => {
  node = await PreparedNode.create();
  without = await node.call("bridge");
  without = { ...without, env: { ...without.env, PATH: "/nowhere" } };
  withIptables = { ...without, env: { ...without.env, PATH: `${programs}:/usr/bin:/bin` } };
});
afterEach(() => node[Symbol.asyncDispose]());

const rules = (): Promise<string> => node.shell("nft list ruleset");
const chains = (ruleset: string) => ruleset.match(/(?<=chain )CNI-\S+/g)?.sort();

describe.skipIf(lacks("iptables", "nft"))("masquerading with the node's iptables", () => {
  it("is checked, and removed by a DEL that finds iptables", async () => {
    const prevResult = await add(withIptables, CONFIG);
    expect(await rules()).toMatch(/chain CNI-[0-9a-f]{24} \{[^}]*10\.9\.0\.0\/24[^}]*accept[^}]*masquerade/);
    expect((await cni("CHECK", withIptables, { ...CONFIG, prevResult })).stdout).toBe("");
    await del(withIptables, CONFIG);
    expect(await rules()).not.toContain("CNI-");
  });

  it("is removed by a DEL that finds none, as in the node agent's image, and others' rules stay", async () => {
    await add({ ...withIptables, containerId: OTHER, ifname: "net2" }, CONFIG);
    const others = await rules();
    await add(withIptables, CONFIG);
    expect(await rules()).not.toBe(others);
    await del(without, CONFIG);
    expect((await rules()).replaceAll(/packets \d+ bytes \d+/g, "")).toBe(
      others.replaceAll(/packets \d+ bytes \d+/g, ""),
    );
  });

  it("is removed by a DEL without the record and without iptables", async () => {
    await add(withIptables, CONFIG);
    await node.shell("rm -r /run/cni/cluster-network-addons/bridge");
    await del(without, CONFIG);
    expect(await rules()).not.toContain("CNI-");
  });

  it("is removed by a GC after the node's records were lost, and what is listed or of another network stays", async () => {
    const [newest, other] = [
      { ...CONFIG, cniVersion: "1.1.0" },
      { ...CONFIG, name: "other-net" },
    ];
    await add({ ...withIptables, ifname: "kept", containerId: "kept" }, newest);
    await add({ ...withIptables, ifname: "other", containerId: "gone" }, other);
    const kept = chains(await rules());
    await add({ ...withIptables, containerId: "gone" }, newest);
    expect(chains(await rules())).toHaveLength(3);
    await node.shell("rm -r /run/cni");
    await node.forgetNetns();
    const listed = { "cni.dev/valid-attachments": [{ containerID: "kept", ifname: "kept" }] };
    expect(await cni("GC", withIptables, { ...newest, ...listed })).toMatchObject({ code: 0, stdout: "" });
    expect(chains(await rules())).toEqual(kept);
  });

  it("is removed by the reaper", async () => {
    await add(withIptables, CONFIG);
    await node.forgetNetns();
    expect(await node.reap()).toBe(0);
    expect(await rules()).not.toContain("CNI-");
  });
});
