import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_NODE_BRIDGES, MAX_NODE_MACS, MAX_UPLINKS } from "../../src/api/node-report.ts";
import { EVERY_BRIDGE } from "../../src/bridge-marker/bridge-resources.ts";
import { isVirtualFunction, NodeLinks } from "../../src/bridge-marker/node-links.ts";
import { type LinkEvent, parseLinkEvent } from "../../src/links/link-event.ts";

const key = (name: string): string => `bridge.network.kubevirt.io/${name}`;

function applied(links: NodeLinks, events: readonly LinkEvent[]): NodeLinks {
  for (const event of events) links.apply(event);
  return links;
}

/** An interface with `vf` in its name is a virtual function. */
const nodeLinks = (...events: LinkEvent[]): NodeLinks =>
  applied(new NodeLinks(EVERY_BRIDGE, (name) => name.includes("vf")), events);

const link = (index: number, name: string, kind: string, master = 0): LinkEvent => {
  return { event: "link", index, name, kind, master, mac: "", permanentMac: undefined };
};

const selecting = (onlyWithPorts: boolean, ...events: LinkEvent[]): NodeLinks =>
  applied(new NodeLinks({ ...EVERY_BRIDGE, onlyWithPorts }), events);

describe("the node's bridges as resources", () => {
  it("are named, and those that are left out have a reason", () => {
    const bridges = selecting(false, link(3, "br1", "bridge"), link(4, "br_", "bridge"), link(5, "eth0", ""));
    expect(bridges.resources()).toEqual({
      keys: new Set([key("br1")]),
      skipped: [{ name: "br_", reason: "illegal-name" }],
    });
  });

  it("come with their first port and go with their last one, where only those with ports count", () => {
    const bridges = selecting(true, link(3, "br1", "bridge"), { event: "synced" });
    expect(bridges.resources().keys).toEqual(new Set());
    expect(bridges.apply(link(7, "veth0", "veth", 3))).toBe(true);
    expect(bridges.apply(link(8, "veth1", "veth", 3))).toBe(true);
    expect(bridges.resources().keys).toEqual(new Set([key("br1")]));
    bridges.apply(link(7, "veth0", "veth"));
    expect(bridges.resources().keys).toEqual(new Set([key("br1")]));
    expect(bridges.apply({ event: "gone", index: 8 })).toBe(true);
    expect(bridges.resources().skipped).toEqual([{ name: "br1", reason: "no-ports" }]);
  });

  it("are no port's business where all count", () => {
    const bridges = selecting(false, link(3, "br1", "bridge"), { event: "synced" });
    expect(bridges.apply(link(7, "veth0", "veth", 3))).toBe(false);
  });

  it("do not take a port of a bond for one of a bridge", () => {
    const bridges = selecting(true, link(3, "br1", "bridge"), link(4, "bond0", "bond"), link(5, "eth0", "", 4));
    expect(bridges.resources().keys).toEqual(new Set());
  });

  it("stay while the monitor starts anew, also their ports", () => {
    const bridges = selecting(true, link(3, "br1", "bridge"), link(7, "veth0", "veth", 3), { event: "synced" });
    bridges.restart();
    expect([bridges.known, bridges.synced]).toEqual([true, false]);
    expect(bridges.resources().keys).toEqual(new Set([key("br1")]));
    for (const event of [link(3, "br1", "bridge"), { event: "synced" } as const]) bridges.apply(event);
    expect(bridges.resources().keys).toEqual(new Set());
  });
});

function bridge(index: number, name: string, more: object = {}): LinkEvent {
  const line = JSON.stringify({ event: "link", index, name, kind: "bridge", mtu: 1500, ...more });
  return parseLinkEvent(line) as LinkEvent;
}

describe("how the bridges of a node are set", () => {
  it("is told of the published ones, with what the link monitor says of them", () => {
    const events = [
      bridge(5, "br2"),
      bridge(2, "br1", { mtu: 9000, vlanFiltering: true }),
      bridge(3, "eth0", { kind: "" }),
      bridge(4, "br3"),
    ];
    expect(applied(new NodeLinks({ ...EVERY_BRIDGE, exclude: ["br3"] }), events).bridges()).toEqual([
      { name: "br1", mtu: 9000, vlanFiltering: true, spanningTree: false, hasAddress: false, uplinks: [] },
      { name: "br2", mtu: 1500, vlanFiltering: false, spanningTree: false, hasAddress: false, uplinks: [] },
    ]);
    expect(applied(new NodeLinks({ ...EVERY_BRIDGE, exclude: ["*"] }), events).bridges()).toEqual([]);
  });

  it("changes with the MTU and the filtering, and not with the address", () => {
    const links = nodeLinks(bridge(2, "br1"), { event: "synced" });
    expect(links.apply(bridge(2, "br1", { mac: "02:00:00:00:00:02", up: true }))).toBe(false);
    expect(links.apply(bridge(2, "br1", { mtu: 1400 }))).toBe(true);
    expect(links.apply(bridge(2, "br1", { mtu: 1400, vlanFiltering: true }))).toBe(true);
    expect(links.apply({ event: "gone", index: 2 })).toBe(true);
    expect(links.bridges()).toEqual([]);
  });

  it("names their uplinks with carrier, MTU and VLANs, and no port of a pod", () => {
    const port = (index: number, name: string, kind: string, more: object = {}) =>
      bridge(index, name, { kind, master: 2, ...more });
    const links = nodeLinks(
      bridge(2, "br1", { vlanFiltering: true, defaultVlan: 1, spanningTree: true, hasAddress: true }),
      bridge(3, "br2", { canFilterVlans: false }),
      port(4, "bond0", "bond", { carrier: true, vlans: ["1", "100-110"], untaggedVlan: 1 }),
      port(5, "eno2", "", { carrier: false, mtu: 9000 }),
      port(6, "eno3.7", "vlan", { carrier: true, master: 3 }),
      port(7, "veth0", "veth"),
      port(8, "eno4", "", { carrier: true, master: 0 }),
    );
    const [br1, br2] = links.bridges();
    expect(br1).toMatchObject({ defaultVlan: 1, spanningTree: true, hasAddress: true });
    expect(br1).not.toHaveProperty("canFilterVlans");
    expect(br2).toMatchObject({ vlanFiltering: false, canFilterVlans: false });
    expect(br1?.uplinks).toEqual([
      { name: "bond0", carrier: true, mtu: 1500, vlans: ["1", "100-110"], untaggedVlan: 1 },
      { name: "eno2", carrier: false, mtu: 9000 },
    ]);
    expect(br2?.uplinks).toEqual([{ name: "eno3.7", carrier: true, mtu: 1500 }]);
    expect(links.apply(port(5, "eno2", "", { carrier: true, mtu: 9000 }))).toBe(true);
    expect(links.apply(port(7, "veth0", "veth", { mtu: 1400 }))).toBe(false);
  });

  it("names as many uplinks as a report may have, and shows what names have that can't be shown", () => {
    const ports = Array.from({ length: MAX_UPLINKS + 3 }, (_, number) =>
      bridge(number + 3, `e\u0007${number}`, { kind: "", master: 2, carrier: true }),
    );
    const [br1] = nodeLinks(bridge(2, "br1"), ...ports).bridges();
    expect(br1?.uplinks).toHaveLength(MAX_UPLINKS);
    expect(br1?.uplinks?.[0]?.name).toBe("e?0");
  });

  it("is told of as many as a report may have", () => {
    const names = Array.from({ length: MAX_NODE_BRIDGES + 5 }, (_, number) => `br${number}`);
    expect(nodeLinks(...names.map((name, number) => bridge(number + 2, name))).bridges()).toHaveLength(
      MAX_NODE_BRIDGES,
    );
  });
});

const host = (index: number, name: string, kind: string, mac: string, permanentMac?: string): LinkEvent => {
  return { event: "link", index, name, kind, master: 0, mac, permanentMac };
};
const numbered = (number: number): string =>
  `52:54:00:00:${Math.floor(number / 256)
    .toString(16)
    .padStart(2, "0")}:${(number % 256).toString(16).padStart(2, "0")}`;

const listOf = (...events: LinkEvent[]) => nodeLinks(...events, { event: "synced" }).hostAddresses();

const named = (...events: LinkEvent[]) => listOf(...events).addresses.map(({ mac, interface: on }) => `${on} ${mac}`);

describe("the addresses of a node's own interfaces", () => {
  it("are those of physical interfaces and bonds", () => {
    expect(
      named(
        host(1, "lo", "", "00:00:00:00:00:00"),
        host(2, "eno1", "", "52:54:00:00:00:01"),
        host(3, "bond0", "bond", "52:54:00:00:00:02"),
        host(4, "team0", "team", "52:54:00:00:00:03"),
      ),
    ).toEqual(["bond0 52:54:00:00:00:02", "team0 52:54:00:00:00:03", "eno1 52:54:00:00:00:01"]);
  });

  it.each(
    "veth bridge vlan tun macvlan macvtap vxlan dummy ifb openvswitch geneve gretap ipvlan vrf wireguard".split(" "),
  )("are not those of a %s, which software made", (kind) => {
    expect(named(host(2, "x", kind, "52:54:00:00:00:01"))).toEqual([]);
  });

  it("name each address once, and what a member of a bond gets back when it leaves", () => {
    const bond = host(5, "bond0", "bond", "52:54:00:00:00:01");
    const members = [
      host(2, "eno1", "", "52:54:00:00:00:01"),
      host(3, "eno2", "", "52:54:00:00:00:01", "52:54:00:00:00:02"),
    ];
    expect(named(...members, bond)).toEqual(["bond0 52:54:00:00:00:01", "eno2 52:54:00:00:00:02"]);
  });

  it("are not those of virtual functions, which a VM may have had", () => {
    const [own, vms] = ["52:54:00:00:00:01", "52:54:00:00:00:02"];
    expect(named(host(2, "eno1", "", own), host(3, "eno1vf0", "", vms))).toEqual([`eno1 ${own}`]);
  });

  it("are those that the hardware came with, and not what a VM on top of it made of them", () => {
    const [own, vms] = ["52:54:00:00:00:01", "52:54:00:00:00:02"];
    expect(named(host(2, "eno1", "", vms, own))).toEqual([`eno1 ${own}`]);
    expect(named(host(2, "eno1", "", vms, own), host(2, "eno1", "", own))).toEqual([`eno1 ${own}`]);
  });

  it("leave out what is no address that a VM could have", () => {
    const wrong = [
      "",
      "01:00:5e:00:00:01",
      "ff:ff:ff:ff:ff:ff",
      "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:01",
    ];
    expect(named(...wrong.map((mac, index) => host(index, `x${index}`, "", mac)))).toEqual([]);
  });

  it("name interfaces by what can be shown to anybody", () => {
    expect(named(host(2, "eth\u001b[2J", "", "52:54:00:00:00:01"))).toEqual(["eth?[2J 52:54:00:00:00:01"]);
    expect(named(host(2, "en-ü1", "", "52:54:00:00:00:01"))).toEqual(["en-?1 52:54:00:00:00:01"]);
  });

  it("follow links that change and go", () => {
    const table = nodeLinks(host(2, "eno1", "", "52:54:00:00:00:01"), { event: "synced" });
    expect(table.apply(host(9, "veth1", "veth", "52:54:00:00:00:09"))).toBe(false);
    table.apply(host(2, "eno1", "", "52:54:00:00:00:02"));
    expect(table.hostAddresses().addresses).toEqual([{ mac: "52:54:00:00:00:02", interface: "eno1" }]);
    expect(table.apply({ event: "gone", index: 2 })).toBe(true);
    expect(table.hostAddresses().addresses).toEqual([]);
  });

  it("are as many as a node may report, the rest is counted, whatever the order of the events", () => {
    const many = Array.from({ length: MAX_NODE_MACS + 5 }, (_, number) =>
      host(number + 2, `eth${number}`, number === MAX_NODE_MACS + 4 ? "bond" : "", numbered(number)),
    );
    const inOrder = listOf(...many);
    expect([inOrder.addresses.length, inOrder.omitted]).toEqual([MAX_NODE_MACS, 5]);
    expect(inOrder.addresses[0]).toMatchObject({ interface: `eth${MAX_NODE_MACS + 4}` });
    const shuffled = fc.shuffledSubarray(many, { minLength: many.length });
    fc.assert(
      fc.property(shuffled, (events) => {
        expect(listOf(...events)).toEqual(inOrder);
      }),
    );
  });
});

it("a virtual function is told from other interfaces by its device, as sysfs has it", async () => {
  const sysfs = await mkdtemp(join(tmpdir(), "sysfs-"));
  try {
    const [physical, virtual] = ["0000:3b:00.0", "0000:3b:02.1"].map((address) => join(sysfs, "devices", address));
    for (const device of [physical, virtual]) await mkdir(device ?? "", { recursive: true });
    await symlink("../0000:3b:00.0", join(virtual ?? "", "physfn"));
    for (const [name, device] of Object.entries({ eno1: physical, eno1v1: virtual, br1: undefined })) {
      await mkdir(join(sysfs, "net", name), { recursive: true });
      if (device !== undefined) await symlink(device, join(sysfs, "net", name, "device"));
    }
    const found = ["eno1", "eno1v1", "br1", "gone"].filter((name) => isVirtualFunction(name, join(sysfs, "net")));
    expect(found).toEqual(["eno1v1"]);
  } finally {
    await rm(sysfs, { recursive: true });
  }
});
