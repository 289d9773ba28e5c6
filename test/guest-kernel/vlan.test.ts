/** VLANs on a kernel that has them: ours alone, and beside the Go reference. */

import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, type CniCall, type CniResult, cni, del, pluginPath } from "../netns/cni-call.ts";
import { reasonFor } from "../netns/differential/allowed-differences.ts";
import type { DifferentialCase } from "../netns/differential/case-generator.ts";
import { compare } from "../netns/differential/comparison.ts";
import { observe } from "../netns/differential/side.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };
const PLAIN_BRIDGE = [["link", "add", "br1", "type", "bridge"]];

interface PortVlan {
  readonly vlan: number;
  readonly vlanEnd?: number;
  readonly flags?: readonly string[];
}

const untagged = (vlan: number): PortVlan => ({ vlan, flags: ["PVID", "Egress Untagged"] });

const parts = guestPartsOrReason();

const HOST_LOCAL = { type: "host-local", dataDir: "DATA", ranges: [[{ subnet: "10.7.0.0/24" }]] };

/** Otherwise the first of them: a process is slow to start in a guest. `npm run test:vlan` sets it. */
const EVERY_PAIR = process.env.VLAN_EVERY_PAIR === "1";
const PAIRS: readonly [string, object, string[][]?][] = [
  ["a trunk that has the native VLAN too", { vlan: 11, vlanTrunk: [{ minID: 10, maxID: 12 }], macspoofchk: true }],
  ["a gateway in the VLAN", { vlan: 100, isDefaultGateway: true, ipMasq: true, ipam: HOST_LOCAL }],
  ["an access port that keeps VLAN 1", { vlan: 100, preserveDefaultVlan: true }],
  ["a trunk of nearly every VLAN", { vlanTrunk: [{ id: 20 }, { minID: 30, maxID: 4094 }, { id: 40 }] }],
  ["a bridge that does not filter", { vlan: 7, portIsolation: true }, PLAIN_BRIDGE],
];

describe.skipIf(typeof parts === "string")(`VLANs${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let peers: string;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    [guest, peers] = await Promise.all([Guest.boot(parts), buildPeers(process.env), pluginPath("bridge")]);
  });
  afterAll(() => guest?.[Symbol.asyncDispose]());

  async function inTestbed(test: (call: CniCall & { container: Namespace }, node: Namespace) => Promise<void>) {
    const testbed = await Testbed.create(guest);
    try {
      await test({ node: testbed.node, container: await testbed.container() }, testbed.node);
    } finally {
      await testbed[Symbol.asyncDispose]();
    }
  }

  async function vlansOf(node: Namespace, ifname: string): Promise<readonly PortVlan[]> {
    const { stdout } = await node.run(["bridge", "-json", "vlan", "show"], { env: { PATH: guest.path } });
    const all: { ifname: string; vlans: PortVlan[] }[] = JSON.parse(stdout);
    return all.find((one) => one.ifname === ifname)?.vlans ?? [];
  }

  const portOf = ({ interfaces }: CniResult): string => interfaces[1]?.name ?? "";

  describe("beside the reference: result, links, VLANs, addresses and routes after ADD and DEL are the same", () => {
    it.each(EVERY_PAIR ? PAIRS : PAIRS.slice(0, 2))("%s", async (_, keys, before = []) => {
      const one: DifferentialCase = {
        number: 0,
        config: { ...CONFIG, ...keys },
        cniArgs: "",
        variables: {},
        before,
        inContainer: [],
        extras: ["second ADD", "GC of others", "second DEL"],
        spoiled: undefined,
      };
      const ours = await pluginPath("bridge");
      const [reference, observed] = await Promise.all(
        [path.join(peers, "bridge"), ours].map((executable) => observe(guest, executable, peers, one)),
      );
      if (reference === undefined || observed === undefined) throw new Error("a side was not observed");
      expect([reference.add, observed.add]).toMatchObject([{ outcome: "success" }, { outcome: "success" }]);
      expect(compare(reference, observed).filter((difference) => reasonFor(difference, one) === undefined)).toEqual([]);
      expect(observed.check?.outcome).toBe("success");
    });
  });

  describe("a bridge that does not filter", () => {
    it("is left as it is, with a warning that has the command which changes it", () =>
      inTestbed(async (call, node) => {
        await node.ip(...(PLAIN_BRIDGE[0] ?? []));
        const { code, stderr } = await cni("ADD", call, { ...CONFIG, vlan: 7 });
        expect(code).toBe(0);
        expect(stderr).toContain("ip link set br1 type bridge vlan_filtering 1");
        expect(JSON.stringify(await node.link("br1"))).toContain('"vlan_filtering":0');
      }));

    it('filters from then on with "enableVlanFiltering"', () =>
      inTestbed(async (call, node) => {
        await node.ip(...(PLAIN_BRIDGE[0] ?? []));
        const result = await add(call, { ...CONFIG, vlan: 7, enableVlanFiltering: true });
        expect(JSON.stringify(await node.link("br1"))).toContain('"vlan_filtering":1');
        expect(await vlansOf(node, portOf(result))).toEqual([untagged(7)]);
      }));

    it('is refused with "requireVlanFiltering", and nothing is left behind', () =>
      inTestbed(async (call, node) => {
        await node.ip(...(PLAIN_BRIDGE[0] ?? []));
        const { code, json } = await cni("ADD", call, { ...CONFIG, vlan: 7, requireVlanFiltering: true });
        expect([code, json?.code]).toEqual([1, 7]);
        expect(json?.msg).toContain("enableVlanFiltering");
        expect((await node.links()).filter(({ master }) => master === "br1")).toEqual([]);
        expect((await call.container.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
      }));
  });

  describe("CHECK", () => {
    it.each<[string, object, string[], string]>([
      ["an access VLAN that was taken away", { vlan: 7 }, ["del", "vid", "7"], "is not in VLAN 7"],
      [
        "one of all VLANs that was taken away",
        { vlanTrunk: [{ minID: 2, maxID: 4094 }] },
        ["del", "vid", "20"],
        "does not carry VLAN 20",
      ],
      ["a VLAN that was added", { vlan: 7 }, ["add", "vid", "8"], "carries VLAN 8, which ADD did not give it"],
      ["VLAN 1, back on a port without it", { vlan: 7 }, ["add", "vid", "1"], "carries VLAN 1,"],
      ["an access VLAN sent with its tag", { vlan: 7 }, ["add", "vid", "7", "pvid"], "has VLAN 7 as that of untagged"],
      [
        "a VLAN of the trunk sent untagged",
        { vlan: 7, vlanTrunk: [{ id: 9 }] },
        ["add", "vid", "9", "untagged"],
        "has VLAN 9 as one of tagged frames, sent untagged, not as one of tagged frames, sent with its tag",
      ],
    ])("notices %s", (_, keys, change, text) =>
      inTestbed(async (call, node) => {
        const config = { ...CONFIG, ...keys };
        const prevResult = await add(call, config);
        expect(await cni("CHECK", call, { ...config, prevResult })).toMatchObject({ code: 0, stdout: "" });
        const [verb = "", ...rest] = change;
        const argv = ["bridge", "vlan", verb, "dev", portOf(prevResult), ...rest];
        expect(await node.run(argv, { env: { PATH: guest.path } })).toMatchObject({ code: 0 });
        const { code, json } = await cni("CHECK", call, { ...config, prevResult });
        expect([code, json?.code]).toEqual([1, 106]);
        expect(json?.msg).toContain(text);
      }),
    );

    it.each(["requireVlanFiltering", "enableVlanFiltering"])(
      "notices that a bridge which filters by %s does not any more",
      (key) =>
        inTestbed(async (call, node) => {
          const config = { ...CONFIG, vlan: 7, [key]: true };
          const prevResult = await add(call, config);
          await node.ip("link", "set", "br1", "type", "bridge", "vlan_filtering", "0");
          const { json } = await cni("CHECK", call, { ...config, prevResult });
          expect(json).toMatchObject({ code: 106, msg: expect.stringContaining("does not filter VLANs") });
        }),
    );

    it("warns as ADD does of a bridge that need not filter", () =>
      inTestbed(async (call, node) => {
        await node.ip(...(PLAIN_BRIDGE[0] ?? []));
        const config = { ...CONFIG, vlan: 7 };
        const prevResult = await add(call, config);
        const { code, stdout, stderr } = await cni("CHECK", call, { ...config, prevResult });
        expect([code, stdout]).toEqual([0, ""]);
        expect(stderr).toContain("ip link set br1 type bridge vlan_filtering 1");
      }));

    it.each<[string, object, object?]>([
      ["an access VLAN", { vlan: 7 }],
      ["the default VLAN kept", { vlan: 7, preserveDefaultVlan: true }],
      ["a trunk", { vlan: 11, vlanTrunk: [{ minID: 10, maxID: 12 }] }],
      ["a trunk without an access VLAN", { vlanTrunk: [{ id: 1 }, { id: 20 }] }],
      ["VLAN 1, as earlier versions left it,", { vlan: 7, preserveDefaultVlan: true }, { vlan: 7 }],
    ])("is content with %s that the reference gave", (_, keys, today = keys) =>
      inTestbed(async (call) => {
        const prevResult = await add({ ...call, executable: path.join(peers, "bridge") }, { ...CONFIG, ...keys });
        expect(await cni("CHECK", call, { ...CONFIG, ...today, prevResult })).toMatchObject({ code: 0, stdout: "" });
      }),
    );

    it("is content with a trunk that stayed in the bridge's own default VLAN for untagged frames", () =>
      inTestbed(async (call, node) => {
        const filters = ["vlan_filtering", "1", "vlan_default_pvid", "5"];
        await node.ip("link", "add", "br1", "type", "bridge", ...filters);
        const config = { ...CONFIG, vlanTrunk: [{ id: 20 }] };
        const prevResult = await add(call, config);
        expect(await vlansOf(node, portOf(prevResult))).toEqual([untagged(5), { vlan: 20 }]);
        expect(await cni("CHECK", call, { ...config, prevResult })).toMatchObject({ code: 0, stdout: "" });
      }));
  });

  it("STATUS finds the kernel's filtering before there is a bridge, and makes nothing", () =>
    inTestbed(async (call, node) => {
      const config = { ...CONFIG, cniVersion: "1.1.0", vlan: 7 };
      expect(await cni("STATUS", call, config)).toMatchObject({ code: 0, stdout: "" });
      expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
    }));

  it("GC removes the VLAN's attachments that are not listed and keeps the gateway's interface", () =>
    inTestbed(async (call, node) => {
      const ranges = [[{ subnet: "10.7.0.0/24" }]];
      const ipam = { type: "host-local", dataDir: `${guest.shared}/gc`, ranges };
      const config = { ...CONFIG, cniVersion: "1.1.0", vlan: 7, isGateway: true, ipam };
      const withIpam = { ...call, env: { CNI_PATH: peers, PATH: guest.path } };
      await add({ ...withIpam, ifname: "net1" }, config);
      const kept = await add({ ...withIpam, ifname: "net2" }, config);
      const attachments = [{ containerID: "container", ifname: "net2" }];
      const { code, stdout } = await cni(
        "GC",
        { ...withIpam, container: undefined },
        {
          ...config,
          "cni.dev/valid-attachments": attachments,
        },
      );
      expect([code, stdout]).toEqual([0, ""]);
      expect((await call.container.links()).map(({ ifname }) => ifname)).toEqual(["lo", "net2"]);
      expect(await vlansOf(node, portOf(kept))).toEqual([untagged(7)]);
      expect(await node.link("br1.7")).toMatchObject({ operstate: "UP" });
      await del({ ...withIpam, ifname: "net2" }, config);
    }));

  it("carries frames inside a VLAN and to a trunk that has it, and not into another", async () => {
    const testbed = await Testbed.create(guest);
    try {
      const [a7, b7, c8, trunk] = await Promise.all(Array.from({ length: 4 }, () => testbed.container()));
      if (a7 === undefined || b7 === undefined || c8 === undefined || trunk === undefined) throw new Error("too few");
      const attach = async (container: Namespace, keys: object, ...addresses: string[]) => {
        await add({ node: testbed.node, container, containerId: `c${container.pid}` }, { ...CONFIG, ...keys });
        // An error about the neighbour comes over it.
        await container.ip("link", "set", "lo", "up");
        for (const address of addresses) await container.ip("address", "add", address, "dev", "net1");
      };
      await attach(a7, { vlan: 7 }, "10.9.0.1/24");
      await attach(b7, { vlan: 7 }, "10.9.0.2/24");
      await attach(c8, { vlan: 8 }, "10.9.0.3/24", "10.8.0.3/24");
      await attach(trunk, { vlanTrunk: [{ id: 7 }, { id: 8 }] });
      for (const id of ["7", "8"]) {
        await trunk.ip("link", "add", "link", "net1", "name", `tagged${id}`, "type", "vlan", "id", id);
        await trunk.ip("link", "set", `tagged${id}`, "up");
        await trunk.ip("address", "add", `10.${id === "7" ? "9.0.7" : "8.0.8"}/24`, "dev", `tagged${id}`);
      }
      expect(await knock(a7, "10.9.0.2")).toContain("refused");
      expect(await knock(a7, "10.9.0.7")).toContain("refused");
      expect(await knock(c8, "10.8.0.8")).toContain("refused");
      const apart = await Promise.all([knock(a7, "10.9.0.3"), knock(c8, "10.9.0.2")]);
      expect(apart).toEqual([expect.stringContaining("No route"), expect.stringContaining("No route")]);
    } finally {
      await testbed[Symbol.asyncDispose]();
    }
  });

  it.each([
    ["", []],
    [
      ", also where an ADD that was killed had only made it",
      ["master", "br1", "type", "veth", "peer", "name", "br1.7"],
    ],
  ])("lets a container reach its gateway in the VLAN%s", (about, before) =>
    inTestbed(async (call, node) => {
      const ipam = { ...HOST_LOCAL, dataDir: `${guest.shared}/gateway${about.length}` };
      const withIpam = { ...call, env: { CNI_PATH: peers, PATH: guest.path } };
      if (before.length > 0) {
        await node.ip("link", "add", "br1", "type", "bridge", "vlan_filtering", "1");
        await node.ip("link", "add", "gateway", ...before);
      }
      await add(withIpam, { ...CONFIG, vlan: 7, isDefaultGateway: true, ipam });
      expect(await knock(call.container, "10.7.0.1")).toContain("refused");
    }),
  );
});

/** What the shell says of a connection to a port that nobody listens at: refused by who has the address, or no route. */
async function knock(from: Namespace, address: string): Promise<string> {
  const script = `exec 3<>/dev/tcp/${address}/9`;
  const { stderr } = await from.run(["bash", "--norc", "-c", script], { env: { LC_ALL: "C" } });
  return stderr;
}
