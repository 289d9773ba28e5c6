/** What the plugin says on stderr about configurations that work, and do not do what somebody may think. */

import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, type CniCall, cni } from "./cni-call.ts";
import { call, container, freshNode, node, testbed } from "./fresh-node.ts";

const CONFIG = { cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: "br1" };

freshNode();

/** The warnings of an ADD that succeeds. */
async function advice(config: object, one: CniCall = call): Promise<string> {
  const { code, stdout, stderr } = await cni("ADD", one, config);
  if (code !== 0) throw new Error(`ADD failed: ${stdout}`);
  return stderr;
}

describe("mtu", () => {
  it("that makes a bridge in use smaller is warned of, with what the bridge had", async () => {
    const other = await testbed.container();
    await add({ ...call, container: other, containerId: "other" }, CONFIG);
    expect(await advice({ ...CONFIG, mtu: 1300 })).toContain(
      '"mtu": 1300 lowered the MTU of bridge br1 from 1500 for all its ports',
    );
    expect((await node.link("br1"))?.mtu).toBe(1300);
  });

  it("that is greater than the bridge's is warned of", async () => {
    await node.ip("link", "add", "br1", "type", "bridge");
    await node.ip("link", "set", "br1", "mtu", "1400");
    expect(await advice({ ...CONFIG, mtu: 9000 })).toContain('bridge br1 has MTU 1400, less than "mtu": 9000');
  });

  it("that the bridge has is not", async () => {
    await node.ip("link", "add", "br1", "mtu", "1400", "type", "bridge");
    expect(await advice({ ...CONFIG, mtu: 1400 })).toBe("");
  });

  it('"inherit" gives both ends what the bridge has, and leaves the bridge alone', async () => {
    await node.ip("link", "add", "br1", "mtu", "8900", "type", "bridge");
    const { interfaces } = await add(call, { ...CONFIG, mtu: "inherit" });
    expect(interfaces.map(({ mtu }) => mtu)).toEqual([8900, 8900, 8900]);
    expect((await container.link("net1"))?.mtu).toBe(8900);
    expect((await node.link("br1"))?.mtu).toBe(8900);
  });

  it('"inherit" on a new bridge is the kernel\'s default', async () => {
    const { interfaces } = await add(call, { ...CONFIG, mtu: "inherit" });
    expect(interfaces.map(({ mtu }) => mtu)).toEqual([1500, 1500, 1500]);
  });
});

it("values in quotes are taken and warned of", async () => {
  const said = await advice({ ...CONFIG, portIsolation: "true", mtu: "1400" });
  expect(said).toContain('"portIsolation" is the string "true", taken as true: write it without quotes');
  expect(said).toContain('"mtu" is the string "1400", taken as 1400');
  const port = (await node.links()).find(({ master }) => master === "br1");
  expect(port).toMatchObject({ mtu: 1400, linkinfo: { info_slave_data: { isolated: true } } });
});

describe("keys that do nothing inside of others are warned of", () => {
  it("in dns", async () => {
    const said = await advice({ ...CONFIG, dns: { nameserver: ["10.0.0.1"], Search: ["example.com"] } });
    expect(said).toContain('unknown key "dns.nameserver" is ignored: did you mean "nameservers"?');
    expect(said).not.toContain("earch");
  });

  it.each<[string, object, string]>([
    ["a misspelled key", { idd: 5 }, '{"idd":5}'],
    ["null", { id: null }, '{"id":null}'],
    ["nothing", {}, "{}"],
  ])("in a VLAN trunk, where an entry with %s gives no VLAN, as in the reference", async (_, entry, shown) => {
    const config = { ...CONFIG, vlanTrunk: [entry] };
    expect(await advice(config)).toContain(
      `"vlanTrunk[0]" is ${shown}, which names no VLAN: write {"id": 5} or {"minID": 10, "maxID": 20}`,
    );
    const executable = path.join(await buildPeers(process.env), "bridge");
    await advice(config, { ...call, executable, ifname: "net2" });
  });

  it("in a VLAN trunk, with the key that was probably meant", async () => {
    const said = await advice({ ...CONFIG, vlanTrunk: [{ idd: 5 }, { min: 3 }] });
    expect(said).toContain('unknown key "vlanTrunk[0].idd" is ignored: did you mean "id"?');
    expect(said).toContain('"vlanTrunk[1]" is {"min":3}, which names no VLAN');
  });

  it("ten of them by name", async () => {
    const said = await advice({ ...CONFIG, vlanTrunk: Array(30).fill({ x: 1 }), dns: { a: 1 } });
    expect(said).toContain('"vlanTrunk[4].x"');
    expect(said).not.toContain("vlanTrunk[5]");
    expect(said).toContain("51 more keys or entries are ignored");
  });
});
