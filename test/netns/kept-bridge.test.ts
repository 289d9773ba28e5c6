/** What an ADD leaves of a bridge that others made: its MAC and its MTU. */

import { expect, it } from "vitest";
import { add } from "./cni-call.ts";
import { call, container, freshNode, node, testbed } from "./fresh-node.ts";

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };

freshNode();

it("changes neither MAC nor MTU of a bridge that nobody gave any, with a port that came before or without", async () => {
  await node.ip("link", "add", "br1", "up", "type", "bridge");
  const alone = (await node.link("br1"))?.address;
  for (const CNI_CONTAINERID of ["first", "second"]) {
    const one = { ...call, container: await testbed.container(), env: { CNI_CONTAINERID } };
    const { interfaces } = await add(one, CONFIG);
    expect(interfaces.map(({ mac }) => mac)).toEqual([alone, expect.stringMatching(/^fe:/), expect.any(String)]);
  }
  await node.ip("link", "add", "br2", "up", "type", "bridge");
  await node.ip("link", "add", "uplink", "address", "f6:00:00:00:00:01", "mtu", "9000", "type", "veth");
  await node.ip("link", "set", "uplink", "master", "br2", "up");
  expect(await node.link("br2")).toMatchObject({ address: "f6:00:00:00:00:01", mtu: 9000 });
  await add(call, { ...CONFIG, bridge: "br2" });
  expect(await node.link("br2")).toMatchObject({ address: "f6:00:00:00:00:01", mtu: 9000 });
  expect((await container.link("net1"))?.mtu).toBe(1500);
});

it("gives the pair no more than the bridge has where the configuration names no MTU", async () => {
  await node.ip("link", "add", "br1", "mtu", "1450", "up", "type", "bridge");
  const { interfaces } = await add(call, { ...CONFIG, cniVersion: "1.1.0" });
  expect(interfaces.map(({ mtu }) => mtu)).toEqual([1450, 1450, 1450]);
  expect((await container.link("net1"))?.mtu).toBe(1450);
});
