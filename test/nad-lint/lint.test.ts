import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { type ClusterFacts, lintNetwork, type Network } from "../../src/nad-lint/lint.ts";
import { share } from "../support/share.ts";
import { WRONG_NETWORKS } from "./wrong-networks.ts";

const BR1 = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };
const CONFIG = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" };
/** What the API server leaves of a warning among many. */
const MAX_WARNING_CHARS = 256;

function lint(config: unknown, annotations: Network["annotations"] = BR1, surroundings?: ClusterFacts) {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  return lintNetwork({ name: "br1-net", annotations, config: text }, surroundings);
}

const codes = (...parameters: Parameters<typeof lint>): string[] => lint(...parameters).map(({ code }) => code);

describe("the lint of a NetworkAttachmentDefinition", () => {
  it.each(WRONG_NETWORKS)("explains $about", (network) => {
    const said = lint(network.config, network.annotations).filter(({ severity }) => severity !== "note");
    expect(said.map(({ code, message }) => [code, message])).toEqual(network.says);
    for (const { message } of said) {
      expect(`NetworkAttachmentDefinition default/br1-net: ${message}`.length).toBeLessThanOrEqual(MAX_WARNING_CHARS);
    }
  });

  it.each([
    ["a network that multus reads from the node", ""],
    ["another plugin", { type: "macvlan", master: "eth1", vlan: 5000 }],
    ["a list of other plugins", { plugins: [{ type: "sriov", bridge: 1 }, { type: "sbr" }] }],
    [
      "a plugin after one of others, with keys of its own",
      {
        cniVersion: "1.0.0",
        plugins: [
          { type: "macvlan", portIsolaton: true },
          { type: "tuning", mtu: 1400 },
        ],
      },
    ],
    ["a plugin with the name of an object's property", { type: "constructor" }],
  ])("says nothing about %s", (_, config) => {
    expect(lint(config, {})).toEqual([]);
  });

  it.each([
    { type: "host-local", subnet: "10.1.0.0/24", rangeStart: "10.1.0.10", rangeEnd: "10.1.0.20", gateway: "10.1.0.1" },
    {
      type: "host-local",
      ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "fd00:1::/64" }]],
      routes: [{ dst: "::/0" }],
    },
    { type: "host-local", subnet: "10.1.0.0/24", ranges: [[{ subnet: "10.2.0.0/24" }]] },
    {
      type: "host-local",
      ranges: [
        [
          { subnet: "10.1.0.0/24", rangeEnd: "10.1.0.20" },
          { subnet: "10.1.0.0/24", rangeStart: "10.1.0.21" },
        ],
      ],
    },
    { type: "static", addresses: [{ address: "10.1.2.3/24", gateway: "10.1.2.1" }, { address: "fd00::2/64" }] },
    { type: "static", addresses: [{ address: "224.0.0.1/24" }, { address: "224.0.0.1/25" }] },
    { TYPE: "dhcp", addresses: 5 },
  ])("has nothing against the addresses %j", (ipam) => {
    expect(lint({ ...CONFIG, cniVersion: "1.0.0", type: "bridge", ipam, acceptRa: false })).toEqual([]);
  });

  it.each([
    [{ subnet: "010.1.0.0/24" }],
    [{ subnet: "fd00::%eth0/64" }],
    [{ subnet: 10 }],
    [{ subnet: "10.1.0.0/24", gateway: "10.1.0.0/24" }],
    [{ subnet: "10.1.0.0/24", rangeStart: "fd00::1" }],
    [{ ranges: [[{ subnet: "10.1.0.0/24" }, { subnet: "fd00::/64" }]] }],
    [{ ranges: [[]] }],
    [{ ranges: [{ subnet: "10.1.0.0/24" }] }],
    [{ ranges: "10.1.0.0/24" }],
    [{ subnet: "10.1.0.0/24", routes: [{ dst: "10.0.0.0/8", gw: "router" }] }],
  ])("finds the mistake in the addresses %j", (keys) => {
    expect(codes({ ...CONFIG, type: "bridge", ipam: { type: "host-local", ...keys } })).toEqual(["ipam-refuses"]);
  });

  it("asks for no resource where the plugin makes the bridge as it should be", () => {
    const ipam = { type: "host-local", subnet: "10.1.0.0/24" };
    const config = { cniVersion: "1.0.0", type: "bridge", bridge: "cni7", isGateway: true, ipam };
    expect(lint(config, {}, { nodesWith: () => ({ having: [], total: 3 }) })).toEqual([]);
  });

  it("names the resource that a network lacks, and refuses no network for it", () => {
    const [found] = lint({ cniVersion: "1.0.0", type: "bridge" }, {});
    expect(found?.message).toContain("bridge.network.kubevirt.io/cni0");
    expect(found?.severity).toBe("warning");
  });

  it("says how many nodes publish the bridge, and what that does to pods", () => {
    const none: ClusterFacts = { nodesWith: () => ({ having: [], total: 12 }) };
    const text =
      "br1 is published by none of 12 nodes. Pods stay Pending until a node publishes it. Make it on a node, or let the marker " +
      'publish it, or correct "bridge".';
    expect(lint(CONFIG, BR1, none)).toEqual([{ code: "bridge-on-no-node", severity: "warning", message: text }]);
    expect(lint(CONFIG, {}, none)[0]?.message).toContain("A pod on a node without it gets an empty bridge");
    const having = [{ node: "a", states: [], publishes: true }];
    expect(lint(CONFIG, BR1, { nodesWith: () => ({ having, total: 12 }) })).toEqual([]);
    expect(lint(CONFIG, BR1, { nodesWith: () => undefined })).toEqual([]);
  });

  it("names the other network of the same bridge and VLAN, and none for a trunk", () => {
    const asked: string[] = [];
    const sameSegment = (segment: string): string => `network default/${asked.push(segment)}`;
    expect(lint(CONFIG, BR1, { sameSegment })[0]?.message).toBe(
      "network default/1 leads to bridge br1 too: VMs of both reach each other. Use one name, or another VLAN to keep them apart.",
    );
    const gateway = { cniVersion: "1.0.0", type: "bridge", isGateway: true, ipam: { type: "dhcp" } };
    const advice = { forceAddress: "Use one name", isGateway: "If it gives the bridge another gateway, pods of one" };
    for (const [key, text] of Object.entries(advice)) {
      expect(lint({ ...gateway, [key]: true }, {}, { sameSegment: () => "network default/a" })).toMatchObject([
        { code: "same-network", message: expect.stringContaining(text) },
      ]);
    }
    lint({ ...CONFIG, vlan: 10 }, BR1, { sameSegment });
    lint({ ...CONFIG, vlanTrunk: [{ id: 10 }] }, BR1, { sameSegment });
    expect(asked).toEqual(["bridge br1", "bridge br1 VLAN 10"]);
  });

  it("notes what nobody can see from outside of the nodes", () => {
    const vlan = { ...CONFIG, vlan: 10, mtu: 9000, isGateway: true };
    expect(codes(vlan)).toEqual(["key-without-effect", "vlan-needs-filtering", "vlan-1-kept", "mtu-needs-bridge"]);
    expect(lint(vlan).every(({ severity }) => severity === "note")).toBe(true);
    expect(codes({ ...CONFIG, vlan: 10, requireVlanFiltering: true, preserveDefaultVlan: true })).toEqual([]);
  });

  it.each([{ vlan: 1 }, { vlan: 10, vlanTrunk: [{ minID: 1, maxID: 5 }] }, { vlanTrunk: [{ id: 20 }] }])(
    "says of %j not that its ports leave VLAN 1",
    (keys) => {
      expect(codes({ ...CONFIG, ...keys })).toEqual(["vlan-needs-filtering"]);
    },
  );

  it("says nothing about static addresses that pods bring", () => {
    const config = { ...CONFIG, cniVersion: "1.0.0", type: "bridge", ipam: { type: "static" } };
    expect(codes({ ...config, capabilities: { ips: true } })).toEqual([]);
    expect(codes({ ...config, args: { cni: { ips: ["10.1.0.2/24"] } } })).toEqual([]);
  });

  it.each(["all", "default", "lo", "eth0", "IFNAME"])(
    "says nothing about a sysctl of %s, which every pod has",
    (name) => {
      const tuning = { type: "tuning", sysctl: { [`net.ipv4.conf.${name}.arp_notify`]: "1" } };
      expect(codes({ cniVersion: "1.0.0", plugins: [CONFIG, tuning] })).toEqual([]);
    },
  );

  it("notes addresses in a network that may be one of VMs", () => {
    const config = { cniVersion: "1.0.0", type: "bridge", bridge: "br1", ipam: { type: "dhcp" } };
    expect(lint({ ...config, macspoofchk: true })).toEqual([
      {
        code: "ipam-maybe-of-vm",
        severity: "note",
        message:
          '"macspoofchk" is usual in networks of VMs. If this is one, leave "ipam" out: a VM has another pod, and another ' +
          "address, after each start and migration.",
      },
    ]);
    expect(lint({ ...config, capabilities: { mac: true } })[0]?.message).toContain('the capability "mac" is usual');
    expect(codes({ ...config, capabilities: ["mac"] })).toEqual([]);
    expect(codes({ ...config, capabilities: { mac: true }, type: "cnv-bridge" })).toEqual(["ipam-of-vm"]);
  });

  describe("where nodes say how the bridge is set", () => {
    const bridgesOn = () => [
      { node: "node-a", mtu: 1500, vlanFiltering: true },
      { node: "node-b", mtu: 9000, vlanFiltering: false },
      { node: "node-c", mtu: 1400, vlanFiltering: true },
    ];
    const vlan = { ...CONFIG, mtu: "inherit", vlan: 10, preserveDefaultVlan: true };

    it("warns of an MTU above that of a node's bridge", () => {
      expect(lint({ ...CONFIG, mtu: 9000 }, BR1, { bridgesOn })).toEqual([
        {
          code: "mtu-above-bridge",
          severity: "warning",
          message:
            "br1 has an MTU below 9000 on 2 of 3 nodes, such as node-a (1500). Larger frames are dropped there. " +
            'Write "mtu": "inherit" to take the MTU of the bridge, or raise that.',
        },
      ]);
      expect(codes({ ...CONFIG, mtu: "inherit" }, BR1, { bridgesOn })).toEqual([]);
    });

    it("warns of an MTU that tuning gives a pod above that of a node's bridge", () => {
      const plugins = (mtu: unknown, tuned: number) => [
        { ...CONFIG, mtu },
        { type: "tuning", mtu: tuned },
      ];
      const chained = (mtu: unknown, tuned: number) =>
        codes({ cniVersion: "1.0.0", plugins: plugins(mtu, tuned) }, BR1, { bridgesOn });
      expect(chained("inherit", 1450)).toEqual(["mtu-above-bridge"]);
      expect(chained("inherit", 1400)).toEqual([]);
      expect(chained(1400, 1401)).toEqual(["mtu-below-bridge", "mtu-above-port"]);
      expect(chained(1400, 1300)).toEqual(["mtu-below-bridge"]);
    });

    it("warns of an MTU below that of a node's bridge, also of the one that pods get without the key", () => {
      expect(lint({ ...CONFIG, mtu: 1400 }, BR1, { bridgesOn })).toEqual([
        {
          code: "mtu-below-bridge",
          severity: "warning",
          message:
            "br1 has an MTU above 1400 on 2 of 3 nodes, such as node-a (1500): pods lose larger frames, and it is lowered for all " +
            'ports if nobody has set it. Write "mtu": "inherit" to take the MTU of the bridge.',
        },
      ]);
      expect(lint(CONFIG, BR1, { bridgesOn })[0]?.message).toBe(
        "br1 has an MTU above 1500 on node-b (9000): pods lose larger frames. " +
          'Write "mtu": "inherit" to take the MTU of the bridge.',
      );
      const usual = () => bridgesOn().slice(0, 1);
      expect(codes(CONFIG, BR1, { bridgesOn: usual })).toEqual([]);
    });

    it("warns of a VLAN where a node's bridge does not filter", () => {
      expect(lint(vlan, BR1, { bridgesOn })).toEqual([
        {
          code: "vlan-unfiltered",
          severity: "warning",
          message:
            "br1 does not filter VLANs on node-b. Pods are not kept in their VLAN there. Set vlan_filtering 1 " +
            'on the bridge, or write "enableVlanFiltering": true.',
        },
      ]);
      expect(lint({ ...vlan, requireVlanFiltering: true }, BR1, { bridgesOn })[0]?.message).toBe(
        "br1 does not filter VLANs on node-b. Pods do not start there. Set vlan_filtering 1 on the bridge.",
      );
      expect(codes({ ...vlan, enableVlanFiltering: true }, BR1, { bridgesOn })).toEqual([]);
      expect(codes({ ...CONFIG, mtu: "inherit" }, BR1, { bridgesOn })).toEqual([]);
    });

    it("notes what the bridge has to be like where no node says so", () => {
      const wanted = { ...vlan, mtu: 9000 };
      expect(codes(wanted, BR1, { bridgesOn: () => [] })).toEqual(["vlan-needs-filtering", "mtu-needs-bridge"]);
      const [good] = bridgesOn();
      expect(codes({ ...vlan, mtu: 1500 }, BR1, { bridgesOn: () => (good ? [good] : []) })).toEqual([]);
    });

    it("leaves room for the whole message behind the longest name of a node", () => {
      const far = { node: "n".repeat(253), mtu: 1400, vlanFiltering: false };
      const said = lint({ ...vlan, mtu: 65_535 }, BR1, { bridgesOn: () => [far] });
      expect(said).toHaveLength(2);
      for (const { message } of said) expect(message.length).toBeLessThanOrEqual(MAX_WARNING_CHARS);
    });
  });

  it("takes the newest version of those that a list offers", () => {
    expect(codes({ cniVersions: ["0.2.0", "1.0.0", "7.0.0"], plugins: [CONFIG] })).toEqual([]);
    expect(codes({ cniVersions: ["0.2.0"], plugins: [CONFIG] })).toEqual(["plugin-refuses"]);
  });

  it("puts nothing into a message that a terminal would obey", () => {
    const [found] = lint(`{"\u001b[2J\u0000\u202e`, BR1);
    expect(found?.message).toMatch(/^[\P{C}]*$/u);
  });

  it("reads a configuration of a mebibyte, and refuses one that the plugin can't take", () => {
    const filler = (characters: number): object => ({ ...CONFIG, args: { cni: { a: "ä".repeat(characters) } } });
    expect(codes(filler(400_000))).toEqual([]);
    expect(lint(filler(600_000))[0]?.message).toContain("has more than 1048576 bytes: make it smaller");
  });

  it("refuses what is nested so deeply that the plugin has no memory for it, wherever that is", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    const text =
      "spec.config is nested more than 1000 deep: plugins run out of memory, and pods will not start. Write it flat.";
    expect(lint(`{"type":"cnv-bridge","x":${nested(100_000)}}`)[0]?.message).toBe(text);
    expect(lint(nested(500_000))[0]?.message).toBe(text);
    expect(codes(`{"type":"cnv-bridge","bridge":${nested(990)}}`)).toEqual(["plugin-refuses"]);
    expect(codes(`{"type":"tuning","sysctl":${nested(990)}}`)).toEqual(["plugin-refuses"]);
    expect(codes({ ...CONFIG, args: { cni: { a: `\\"${"[".repeat(20_000)}` } } })).toEqual([]);
  });

  it("has an answer for any text and any JSON", () => {
    const networks = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc
        .json()
        .map((json) => `{"cniVersion":"1.0.0","plugins":[{"type":"bridge","bridge":"br1","vlanTrunk":${json}}]}`),
      fc.json().map((json) => `{"type":"bridge","ipam":{"type":"host-local","ranges":${json}}}`),
      fc.json().map((json) => `{"type":"cnv-tuning","sysctl":${json},"prevResult":${json}}`),
      fc.json().map((json) => `{"name":"n","type":"bridge","args":${json},"mtu":${json},"dns":${json}}`),
    );
    const property = fc.property(networks, fc.dictionary(fc.string(), fc.string()), (config, annotations) => {
      for (const { message } of lint(config, annotations)) expect(message).toMatch(/^[\P{C}]+$/u);
    });
    fc.assert(property, { numRuns: share(2_000) });
  });
});
