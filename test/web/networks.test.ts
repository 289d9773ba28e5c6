import { afterEach, describe, expect, it } from "vitest";
import { onNodes } from "../../src/api/network-text.ts";
import type { BridgeView, NetworkView, Verdict } from "../../src/mac-pool/inspection/rest/views.ts";
import { addressOf } from "../../src/web/client.ts";
import { bridgeGroups, nodeColumns } from "../../src/web/networks/bridge-groups.ts";
import { NETWORK_COLUMNS, networkRow } from "../../src/web/networks/network-rows.ts";
import { differences, mtuText, nodesText, vlanText } from "../../src/web/networks/settings.ts";
import { signIn } from "../../src/web/session.ts";

const NODES = { total: 3, withBridge: 0, works: 0, warning: 0, fails: 0, notNow: 0, noBridge: 0, unknown: 0 };

function network(name: string, more: Partial<NetworkView> = {}): NetworkView {
  const counts = { running: 0, pending: 0, starting: 0, pods: 0, moreFindings: 0 };
  const lists = { usedBy: [], waiting: [], cells: [], findings: [] };
  return { namespace: "a", name, spoofCheck: false, nodes: NODES, ...counts, ...lists, ...more };
}

function bridge(name: string, more: Partial<BridgeView> = {}): BridgeView {
  return {
    name,
    nodes: 1,
    totalNodes: 3,
    mtus: [1500],
    networks: 0,
    running: 0,
    on: [],
    problems: [],
    notes: [],
    ...more,
  };
}

const cell = (node: string, verdict: Verdict, running = 0) => ({ node, verdict, running });
const list = <T>(items: readonly T[], more: { readonly continue?: string } = {}) => ({
  items: [...items],
  total: items.length,
  ...more,
});
const namesOf = (groups: ReturnType<typeof bridgeGroups>): string[] =>
  groups.map(({ name, networks }) => `${name}: ${networks.map((one) => one.name).join(" ")}`);

describe("bridges and their networks", () => {
  const networks = [network("n1", { bridge: "br1" }), network("n3", { bridge: "br3" }), network("ovs")];
  const bridges = list([bridge("br1"), bridge("br2"), bridge("br4")]);

  it("come by name, also without a network, with what has no bridge at the end", () => {
    const groups = bridgeGroups(list(networks), bridges, "");
    expect(namesOf(groups)).toEqual(["br1: n1", "br2: ", "br3: n3", "br4: ", "undefined: ovs"]);
    expect(groups.map(({ bridge: of }) => of?.name)).toEqual(["br1", "br2", undefined, "br4", undefined]);
  });

  it("leave out bridges whose networks may be on the next page", () => {
    const groups = bridgeGroups(list(networks.slice(0, 2), { continue: "next" }), bridges, "");
    expect(namesOf(groups)).toEqual(["br1: n1", "br2: ", "br3: n3"]);
  });

  it("are those that a search finds, or names", () => {
    expect(namesOf(bridgeGroups(list([networks[0] as NetworkView]), bridges, "n1"))).toEqual(["br1: n1"]);
    expect(namesOf(bridgeGroups(list<NetworkView>([]), bridges, "BR4"))).toEqual(["br4: "]);
  });

  it("have a column for each node up to 16", () => {
    const cells = [cell("c", "Works"), cell("a", "Fails")];
    const on = [{ node: "b", mtu: 1500, vlanFiltering: true, running: 0 }];
    const small = bridgeGroups(list([network("n1", { bridge: "br1", cells })]), list([bridge("br1", { on })]), "");
    expect(nodeColumns(small)).toEqual(["a", "b", "c"]);
    const large = network("n1", { bridge: "br1", cells, nodes: { ...NODES, total: 17 } });
    expect(nodeColumns(bridgeGroups(list([large]), list<BridgeView>([]), ""))).toBeUndefined();
    const unused = bridge("br1", { totalNodes: 17 });
    expect(nodeColumns(bridgeGroups(list<NetworkView>([]), list([unused]), ""))).toBeUndefined();
    const unreported = network("n1", { cells: Array.from({ length: 17 }, (_, node) => cell(`n${node}`, "Unknown")) });
    expect(nodeColumns(bridgeGroups(list([unreported]), list<BridgeView>([]), ""))).toBeUndefined();
  });
});

describe("a reader of one namespace", () => {
  afterEach(() => signIn("", ""));

  it("asks for its networks and bridges", () => {
    signIn("token", "tenant-a");
    expect(addressOf("networks", { limit: 50 })).toBe("api/v1/networks?limit=50&namespace=tenant-a");
    expect(addressOf("bridges")).toBe("api/v1/bridges?namespace=tenant-a");
  });
});

describe("settings of a network", () => {
  it("are VLAN or trunk, and MTU", () => {
    const texts = (more: Partial<NetworkView>) => {
      const one = network("n", { bridge: "br1", ...more });
      return [vlanText(one), mtuText(one)];
    };
    expect(texts({ vlan: 100, mtu: "inherit" })).toEqual(["100", "inherit"]);
    expect(texts({ vlan: 5, trunk: "100-110,200", mtu: 9000 })).toEqual(["5, trunk 100-110,200", "9000"]);
    expect(texts({})).toEqual(["none", "≤\u00a01500"]);
    expect([vlanText(network("ovs")), mtuText(network("ovs"))]).toEqual(["", ""]);
  });

  it("fold many nodes into a number, with the exceptions named", () => {
    const cells = [cell("node-3", "Warning"), cell("node-7", "Warning", 2), cell("node-9", "Fails")];
    const nodes = { ...NODES, total: 1_000, works: 399, warning: 6, fails: 1, notNow: 0, noBridge: 594 };
    const one = network("n", { cells, nodes });
    expect(nodesText(one, "Works")).toBe("on 399 of 1,000 nodes");
    expect(nodesText(one, "Warning")).toBe("on node-3, node-7 (2 running VMs) and 4 more");
    expect(nodesText(one, "Fails")).toBe("on node-9");
    expect(nodesText(one, "NoBridge")).toBe("on 594");
    expect(nodesText(one, "Unknown")).toBe("");
  });
});

describe("a row of a spreadsheet", () => {
  it("has a field for each column", () => {
    const findings = ["no node has its bridge", "a value is in quotes"].map((summary) => ({
      ...{ code: "any", severity: "warning" as const, message: "any" },
      summary,
    }));
    const nodes = { ...NODES, total: 1_000, works: 399, noBridge: 601 };
    const counts = { running: 1_024, pending: 1, usedBy: ["a", "b"] };
    const row = networkRow(network("n", { bridge: "br1", vlan: 5, trunk: "7-9", findings, nodes, ...counts }));
    expect(Object.fromEntries(NETWORK_COLUMNS.map((column, index) => [column, row[index]]))).toMatchObject({
      ...{ bridge: "br1", namespace: "a", network: "n", vlan: "5, trunk 7-9", mtu: "", "used by": "a b" },
      ...{ running: "1024", waiting: "1", nodes: "1000", "starts on": "399", "no bridge on": "601" },
      "what is wrong": "no node has its bridge; a value is in quotes",
    });
    expect(row).toHaveLength(NETWORK_COLUMNS.length);
  });
});

describe("settings of a bridge", () => {
  it("are where it is, and what is amiss on one node alone", () => {
    expect(onNodes(bridge("br1", { nodes: 412, totalNodes: 1_000 }))).toBe("on 412 of 1,000 nodes");
    expect(onNodes(bridge("br1", { nodes: 0 }))).toBe("on no node");
    const on = { node: "a", mtu: 1500, vlanFiltering: false, uplink: "down", running: 0 } as const;
    const mixed = bridge("br1", { mtus: [1500, 9000], filtering: "mixed", uplink: "mixed" });
    expect(differences(mixed, on)).toBe("MTU 1500, filtering off, uplink down");
    expect(differences(mixed, { ...on, vlanFiltering: true, uplink: "none" })).toBe("MTU 1500, no uplink");
    expect(differences(bridge("br1", { filtering: "off", uplink: "down" }), on)).toBe("");
  });
});
