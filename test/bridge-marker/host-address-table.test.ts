import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_NODE_MACS } from "../../src/api/node-report.ts";
import { HostAddressTable } from "../../src/bridge-marker/host-address-table.ts";
import type { LinkEvent } from "../../src/bridge-marker/link-event.ts";

type Seen = Extract<LinkEvent, { event: "link" }>;

const link = (index: number, name: string, kind: string, mac: string, permanentMac?: string): Seen => {
  return { event: "link", index, name, kind, master: 0, mac, permanentMac };
};
const numbered = (number: number): string =>
  `52:54:00:00:${Math.floor(number / 256)
    .toString(16)
    .padStart(2, "0")}:${(number % 256).toString(16).padStart(2, "0")}`;

const isVirtual = (name: string): boolean => name.includes("vf");

function listOf(...events: LinkEvent[]) {
  const table = new HostAddressTable(isVirtual);
  for (const event of [...events, { event: "synced" } as const]) table.apply(event);
  return table.list();
}

const named = (...events: LinkEvent[]) => listOf(...events).addresses.map(({ mac, interface: on }) => `${on} ${mac}`);

describe("the addresses of a node's own interfaces", () => {
  it("are those of physical interfaces and bonds", () => {
    expect(
      named(
        link(1, "lo", "", "00:00:00:00:00:00"),
        link(2, "eno1", "", "52:54:00:00:00:01"),
        link(3, "bond0", "bond", "52:54:00:00:00:02"),
        link(4, "team0", "team", "52:54:00:00:00:03"),
      ),
    ).toEqual(["bond0 52:54:00:00:00:02", "team0 52:54:00:00:00:03", "eno1 52:54:00:00:00:01"]);
  });

  it.each(
    "veth bridge vlan tun macvlan macvtap vxlan dummy ifb openvswitch geneve gretap ipvlan vrf wireguard".split(" "),
  )("are not those of a %s, which software made", (kind) => {
    expect(named(link(2, "x", kind, "52:54:00:00:00:01"))).toEqual([]);
  });

  it("name each address once, and what a member of a bond gets back when it leaves", () => {
    const bond = link(5, "bond0", "bond", "52:54:00:00:00:01");
    const members = [
      link(2, "eno1", "", "52:54:00:00:00:01"),
      link(3, "eno2", "", "52:54:00:00:00:01", "52:54:00:00:00:02"),
    ];
    expect(named(...members, bond)).toEqual(["bond0 52:54:00:00:00:01", "eno2 52:54:00:00:00:02"]);
  });

  it("are not those of virtual functions, which a VM may have had", () => {
    const [own, vms] = ["52:54:00:00:00:01", "52:54:00:00:00:02"];
    expect(named(link(2, "eno1", "", own), link(3, "eno1vf0", "", vms))).toEqual([`eno1 ${own}`]);
  });

  it("are those that the hardware came with, and not what a VM on top of it made of them", () => {
    const [own, vms] = ["52:54:00:00:00:01", "52:54:00:00:00:02"];
    expect(named(link(2, "eno1", "", vms, own))).toEqual([`eno1 ${own}`]);
    expect(named(link(2, "eno1", "", vms, own), link(2, "eno1", "", own))).toEqual([`eno1 ${own}`]);
  });

  it("leave out what is no address that a VM could have", () => {
    const wrong = [
      "",
      "01:00:5e:00:00:01",
      "ff:ff:ff:ff:ff:ff",
      "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:01",
    ];
    expect(named(...wrong.map((mac, index) => link(index, `x${index}`, "", mac)))).toEqual([]);
  });

  it("name interfaces by what can be shown to anybody", () => {
    expect(named(link(2, "eth\u001b[2J", "", "52:54:00:00:00:01"))).toEqual(["eth?[2J 52:54:00:00:00:01"]);
    expect(named(link(2, "en-ü1", "", "52:54:00:00:00:01"))).toEqual(["en-?1 52:54:00:00:00:01"]);
  });

  it("follow links that change and go", () => {
    const table = new HostAddressTable(isVirtual);
    for (const event of [link(2, "eno1", "", "52:54:00:00:00:01"), { event: "synced" } as const]) table.apply(event);
    expect(table.apply(link(9, "veth1", "veth", "52:54:00:00:00:09"))).toBe(false);
    table.apply(link(2, "eno1", "", "52:54:00:00:00:02"));
    expect(table.list().addresses).toEqual([{ mac: "52:54:00:00:00:02", interface: "eno1" }]);
    expect(table.apply({ event: "gone", index: 2 })).toBe(true);
    expect(table.list().addresses).toEqual([]);
  });

  it("are as many as a node may report, the rest is counted, whatever the order of the events", () => {
    const many = Array.from({ length: MAX_NODE_MACS + 5 }, (_, number) =>
      link(number + 2, `eth${number}`, number === MAX_NODE_MACS + 4 ? "bond" : "", numbered(number)),
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
