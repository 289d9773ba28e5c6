/** Calls with VLANs that are killed at their system calls, on a kernel that has VLANs. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { type CniCall, pluginPath } from "../netns/cni-call.ts";
import { EVERY_CALL, expectAddRemovable, expectDelFinishable } from "../netns/kills.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const parts = guestPartsOrReason();

const CONFIG = { cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: "br1" };
const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const CONFIGS: readonly [string, object][] = [
  ["a gateway in the VLAN", { ...CONFIG, vlan: 7, isGateway: true, ipam: IPAM }],
  ["an access VLAN and a trunk", { ...CONFIG, vlan: 11, vlanTrunk: [{ minID: 10, maxID: 12 }] }],
];
/** Otherwise the first of them: a process is slow to start in a guest. */
const CHOSEN = EVERY_CALL || process.env.VLAN_EVERY_PAIR === "1" ? CONFIGS : CONFIGS.slice(0, 1);

describe.skipIf(typeof parts === "string")(`kills with VLANs${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let testbed: Testbed;
  let container: Namespace;
  let call: CniCall;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    [guest] = await Promise.all([Guest.boot(parts), buildPeers(process.env), pluginPath("bridge")]);
  });
  afterAll(() => guest?.[Symbol.asyncDispose]());

  beforeEach(async () => {
    testbed = await Testbed.create(guest);
    container = await testbed.container();
    // Their addresses settle in time, which no comparison of states could bear.
    const off = ["sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"];
    for (const namespace of [testbed.node, container]) await namespace.run(off);
    await testbed.node.ip(
      "link",
      "add",
      "br1",
      "address",
      "02:00:00:00:00:01",
      "up",
      "type",
      "bridge",
      "vlan_filtering",
      "1",
    );
    await testbed.node.ip("link", "add", "keep0", "up", "master", "br1", "type", "veth", "peer", "name", "keep1");
    await testbed.node.ip("link", "set", "keep1", "up");
    const executable = await pluginPath("bridge");
    const env = { CNI_NETNS: container.path, CNI_PATH: await buildPeers(process.env), PATH: guest.path };
    call = { node: testbed.node, executable, env };
  });
  afterEach(() => testbed?.[Symbol.asyncDispose]());

  async function state(): Promise<string> {
    const links = await testbed.state(container);
    const script = "bridge vlan show; find /run -type f | sort";
    return links + (await testbed.node.run(["sh", "-c", script], { env: { PATH: guest.path } })).stdout;
  }

  it.each(CHOSEN)("an ADD with %s leaves nothing that DEL does not remove", (_, config) =>
    expectAddRemovable({ call, config, state }),
  );

  it.each(CHOSEN)("a DEL with %s is finished by the next one", (_, config) =>
    expectDelFinishable({ call, config, state }),
  );
});
