import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { bridgeResource } from "../../src/api/bridge-resource.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { goldenPath, transcript } from "./support/golden.ts";
import { macpool } from "./support/macpool.ts";
import { type Answer, type Script, status } from "./support/scripted-cluster.ts";

const list = (items: readonly object[]): Answer => ({ body: { metadata: { resourceVersion: "1" }, items } });

const node = (name: string, capacity: Record<string, string>): object => ({
  metadata: { name },
  status: { capacity: { cpu: "4", ...capacity } },
});

const nodesAre = (answer: Answer, more: Script = {}): Script => ({
  ...more,
  other: (path) => {
    if (path.startsWith("/api/v1/namespaces/")) return { body: {} };
    return path === "/api/v1/nodes" ? answer : undefined;
  },
});

const BR1 = { "bridge.network.kubevirt.io/br1": "1k" };
const NODES = list([
  node("node-b", BR1),
  node("node-c", { "bridge.network.kubevirt.io/br1": "0" }),
  node("node-a", BR1),
]);

/** What the service tells the owner of a namespace with a network on it. */
const TOLD = { name: "br1", nodes: 1, totalNodes: 3, on: [{ node: "node-a" }] };

describe("kubectl macpool new-network", () => {
  let harness: CliHarness;
  beforeEach(async () => {
    harness = await CliHarness.start();
  });
  afterEach(async () => {
    await harness[Symbol.asyncDispose]();
  });

  it("prints a network in full, which nodes have the bridge, and what the lint finds", async () => {
    const reports = ["node-a", "node-b"].map((name) => ({
      metadata: { name },
      bridges: [{ name: "br1", mtu: 1500, vlanFiltering: name === "node-a" }],
    }));
    const argv = ["new-network", "blue", "--bridge", "br1", "--vlan", "100", "--trunk", "200-210,5", "-n", "lab"];
    const ended = await harness.say(nodesAre(NODES, { hosts: reports }), ...argv, "--mtu", "1400", "--spoof-check");
    await expect(transcript(argv, "pipe", ended)).toMatchFileSnapshot(goldenPath("new-network"));
  });

  it.each([
    [[], {}],
    [["--vlan", "100"], { vlan: 100, requireVlanFiltering: true }],
    [["--trunk", "100-110"], { vlanTrunk: [{ minID: 100, maxID: 110 }], requireVlanFiltering: true }],
    [["--trunk=7", "--vlan=1"], { vlan: 1, vlanTrunk: [{ id: 7 }], requireVlanFiltering: true }],
    [["--mtu", "inherit"], { mtu: "inherit" }],
    [["--mtu=68", "--spoof-check"], { mtu: 68, macspoofchk: true }],
  ])("with %j writes what the plugin takes and the lint has nothing against", async (options, keys) => {
    const { stdout, exitCode } = await harness.say(
      nodesAre(NODES),
      "new-network",
      "blue",
      "--bridge",
      "br1",
      ...options,
    );
    const nad = parse(stdout);
    const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: bridgeResource("br1") ?? "" };
    expect(nad.metadata).toEqual({ name: "blue", annotations });
    const { config } = nad.spec;
    const common = { cniVersion: "0.3.1", name: "blue", type: "cnv-bridge", bridge: "br1" };
    expect(JSON.parse(config)).toEqual({ ...common, ...keys });
    const found = lintNetwork({ name: "blue", annotations, config });
    expect(found.filter(({ severity }) => severity !== "note")).toEqual([]);
    expect(exitCode).toBe(0);
  });

  it.each<readonly [string, Script, string]>([
    ["one of the nodes", nodesAre(list([node("a", BR1), node("b", {})])), "1 of 2 nodes has br1: a\n"],
    [
      "none of the nodes",
      nodesAre(list([node("a", {})])),
      "no node has br1\nwarning: br1 is published by no node. Pods stay Pending until a node publishes it. " +
        'Make it on a node, or let the marker publish it, or correct "bridge".\n',
    ],
    [
      "many nodes",
      nodesAre(list(Array.from({ length: 12 }, (_, index) => node(`n${index + 10}`, BR1)))),
      "all 12 nodes have br1: n10, n11, n12, n13, n14, n15, n16, n17, n18, n19 and 2 more\n",
    ],
    [
      "nodes that may not be listed",
      nodesAre(status(403, 'nodes is forbidden: User "t" cannot list resource "nodes"', "Forbidden")),
      "which nodes have br1 is not visible to you: needs list on nodes\n",
    ],
    [
      "nodes that only the service tells of",
      nodesAre(status(403, "no", "Forbidden"), {
        rest: (path) => (path === "bridges" ? { body: { items: [TOLD], total: 1 } } : undefined),
      }),
      "1 of 3 nodes has br1: node-a\n",
    ],
    ["a server without an answer", nodesAre(status(500, "etcd is away")), "could not look at nodes: etcd is away\n"],
  ])("says of %s what it knows, and ends with 0", async (_, script, stderr) => {
    const ended = await harness.say(script, "new-network", "blue", "--bridge", "br1");
    expect(ended).toMatchObject({ exitCode: 0, stderr });
    expect(parse(ended.stdout).kind).toBe("NetworkAttachmentDefinition");
  });

  const ALL_NADS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
  const nad = (name: string, namespace: string, config: object): object => ({
    metadata: { name, namespace },
    spec: { config: JSON.stringify({ cniVersion: "0.3.1", type: "bridge", bridge: "br1", ...config }) },
  });

  it("says which network of the cluster leads to the same bridge and VLAN, and that the bridge has no uplink", async () => {
    const report = {
      metadata: { name: "node-a" },
      bridges: [{ name: "br1", mtu: 1500, vlanFiltering: true, uplinks: [] }],
    };
    const nads = list([nad("red", "team", { vlan: 100 }), nad("blue", "lab", {}), nad("other", "team", { vlan: 7 })]);
    const script: Script = {
      hosts: [report],
      namespaces: [],
      other: (path) => ({ "/api/v1/nodes": NODES, [ALL_NADS]: nads })[path] ?? { body: {} },
    };
    const { stderr, exitCode } = await harness.say(
      script,
      ..."new-network blue --bridge br1 --vlan 100 -n lab".split(" "),
    );
    expect(stderr.split("\n").slice(1)).toEqual([
      "warning: network team/red leads to bridge br1 VLAN 100 too: VMs of both reach each other. Use one name, or another VLAN to keep them apart.",
      "note: br1 has no uplink: VMs reach only VMs of the same node.",
      expect.stringMatching(/^note: the plugin takes each new port out of VLAN 1/),
      "",
    ]);
    expect(exitCode).toBe(0);
  });

  it("says that the namespace does not exist, where the user can know that", async () => {
    const argv = ["new-network", "blue", "--bridge", "br1", "-n", "nosuchns"];
    const script: Script = { other: (path) => (path === "/api/v1/nodes" ? NODES : undefined) };
    const { stderr, exitCode } = await harness.say(script, ...argv);
    expect({ stderr, exitCode }).toEqual({
      stderr:
        "2 of 3 nodes have br1: node-a, node-b\n" +
        "warning: there is no namespace nosuchns: create it before you apply the network.\n",
      exitCode: 0,
    });
    const hidden = (path: string) => (path === "/api/v1/nodes" ? NODES : status(403, "no", "Forbidden"));
    expect((await harness.say({ other: hidden }, ...argv)).stderr).not.toContain("namespace");
  });

  it("prints the network without a cluster", async () => {
    const ended = await macpool("/nowhere/kubeconfig", ["new-network", "blue", "--bridge", "br1"]);
    expect(ended.exitCode).toBe(0);
    expect(parse(ended.stdout).kind).toBe("NetworkAttachmentDefinition");
    expect(ended.stderr).toMatch(/^could not look at nodes: Kubeconfig \/nowhere\/kubeconfig does not exist: .+\n$/);
    const away = ["new-network", "blue", "--bridge", "br1", "--server", "http://127.0.0.1:1"];
    const { exitCode, stderr } = await macpool(harness.kubeconfig, away);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringMatching(/^could not look at nodes: the API server \S+ can't be reached \(ECONNREFUSED\)/),
    });
  });

  it("ends with 1 for a network that can't work", async () => {
    const { exitCode, stderr } = await harness.say(nodesAre(NODES), "new-network", "blue", "--bridge", "lo");
    expect(exitCode).toBe(1);
    expect(stderr).toContain('error: "bridge": "lo" is a device of every node, not a bridge: pods will not start.');
  });

  it("prints JSON or the name as well", async () => {
    const argv = ["new-network", "blue", "--bridge", "br1"];
    const json = JSON.parse((await harness.say(nodesAre(NODES), ...argv, "-o", "json")).stdout);
    expect(json).toEqual(parse((await harness.say(nodesAre(NODES), ...argv)).stdout));
    const name = await harness.say(nodesAre(NODES), ...argv, "-o", "name");
    expect(name.stdout).toBe("networkattachmentdefinition.k8s.cni.cncf.io/blue\n");
  });

  const NEEDED = ["blue", "--bridge", "br1"];
  it.each([
    [[], "new-network takes one argument: the name of the network"],
    [["blue"], "new-network needs a bridge of the nodes: write --bridge NAME"],
    [["Blue", "--bridge", "br1"], /^"Blue" can't be the name of a network: write at most 253 small letters, /],
    [["a..b", "--bridge", "br1"], /^"a\.\.b" can't be the name of a network: /],
    [[...NEEDED, "-n", "a.b"], /^"a\.b" can't be the name of a namespace: write at most 63 small letters, /],
    [[...NEEDED, "-A"], "new-network makes one network: write -n NAMESPACE in place of -A"],
    [["blue", "--bridge", "a23456789012345x"], /^--bridge "a23456789012345x" is longer than 15 characters/],
    [["blue", "--bridge", "br 1"], /^--bridge "br 1" can't be published by nodes: a bridge has a name of letters/],
    [["blue", "--bridge", "br/1"], /^--bridge "br\/1" can't be published by nodes/],
    [[...NEEDED, "--vlan", "0"], '--vlan "0" is not a number from 1 to 4094'],
    [[...NEEDED, "--vlan", "-1"], '--vlan "-1" is not a number from 1 to 4094'],
    [[...NEEDED, "--vlan=-1"], '--vlan "-1" is not a number from 1 to 4094'],
    [[...NEEDED, "--mtu", "-9000"], '--mtu "-9000" is not a number from 68 to 65535'],
    [
      [...NEEDED, "--vlan", "--spoof-check"],
      '--vlan has no value: one that begins with "-" is written as --vlan=-VALUE',
    ],
    [[...NEEDED, "-n", "-A"], '-n has no value: one that begins with "-" is written as -n-VALUE'],
    [[...NEEDED, "--vlan", "4095"], '--vlan "4095" is not a number from 1 to 4094'],
    [[...NEEDED, "--trunk", "0-5"], '--trunk "0-5" is no VLAN and no range: write 100 or 100-110, from 1 to 4094'],
    [[...NEEDED, "--trunk", "1,9-5"], '--trunk "9-5" is no VLAN and no range: write 100 or 100-110, from 1 to 4094'],
    [[...NEEDED, "--trunk", "5-"], /^--trunk "5-" is no VLAN/],
    [[...NEEDED, "--trunk", "5-4095"], /^--trunk "5-4095" is no VLAN/],
    [
      [...NEEDED, "--vlan", "100", "--trunk", "100-110"],
      "VLAN 100 is in --vlan and in --trunk, and can't be untagged and tagged: take it out of one",
    ],
    [[...NEEDED, "--mtu", "67"], '--mtu "67" is not a number from 68 to 65535'],
    [[...NEEDED, "--mtu", "jumbo"], '--mtu "jumbo" is not a number from 68 to 65535'],
  ])("refuses %j in one sentence with exit code 2", async (argv, sentence) => {
    const { exitCode, stdout, stderr } = await macpool(harness.kubeconfig, ["new-network", ...argv]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: .+\n$/);
    const said = stderr.slice("error: ".length, -1);
    if (typeof sentence === "string") expect(said).toBe(sentence);
    else expect(said).toMatch(sentence);
    expect(harness.cluster.asked).toEqual([]);
  });
});
