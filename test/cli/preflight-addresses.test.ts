import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { instanceOf, machine } from "../mac-pool/machines.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { reportOf } from "./support/objects.ts";
import {
  deadNode,
  FORBIDDEN,
  linesOf,
  nodeOf,
  type PreflightCluster,
  webhooksTo,
} from "./support/preflight-cluster.ts";

const FIRST = "02:5d:1c:00:00:00";
const LAST = "02:5d:1c:ff:ff:ff";
const RANGE = `${FIRST}-${LAST}`;
const GOOD = `ok: ${RANGE} (--range) is a range that a pool can have.`;

const config = (rangeStart: string, rangeEnd: string): PreflightCluster => ({
  objects: { "networkaddonsconfigs/cluster": { metadata: {}, spec: { kubeMacPool: { rangeStart, rangeEnd } } } },
});
const rangeMap = (namespace: string) => ({
  [`namespaces/${namespace}/configmaps/kubemacpool-mac-range-config`]: {
    metadata: {},
    data: { RANGE_START: FIRST, RANGE_END: LAST },
  },
});
const vm = (name: string, mac: string) => machine(name, "lab", [{ name: "net1", macAddress: mac }]);

describe("preflight about ranges and addresses", () => {
  let harness: CliHarness;
  beforeEach(async () => {
    harness = await CliHarness.start();
  });
  afterEach(async () => {
    await harness[Symbol.asyncDispose]();
  });

  const applied = {
    "configmaps/cluster-networks-addons-operator-applied-cluster": {
      metadata: {},
      data: { applied: JSON.stringify({ kubeMacPool: { rangeStart: FIRST, rangeEnd: LAST } }) },
    },
  };
  it.each<readonly [string, PreflightCluster, string]>([
    ["NetworkAddonsConfig cluster", config(FIRST, LAST), RANGE],
    ["ConfigMap cluster-network-addons/cluster-networks-addons-operator-applied-cluster", { objects: applied }, RANGE],
    [
      "MACPool default",
      {
        groups: { "macpool.network.kubevirt.io": ["v1alpha1"] },
        objects: { "macpools/default": { metadata: {}, spec: { ranges: [{ start: FIRST, end: LAST }] } } },
      },
      RANGE,
    ],
    [
      "ConfigMap cluster-network-addons/kubemacpool-mac-range-config",
      { objects: rangeMap("cluster-network-addons") },
      RANGE,
    ],
    ["ConfigMap pool/kubemacpool-mac-range-config", { webhooks: webhooksTo("pool"), objects: rangeMap("pool") }, RANGE],
  ])("takes the range where the operator takes it: %s", async (source, cluster, range) => {
    expect(await linesOf(harness, "range", cluster)).toEqual([
      `ok: ${range} (${source}) is a range that a pool can have.`,
    ]);
  });

  it("says that the range is of chance where none is set", async () => {
    expect(await linesOf(harness, "range", {})).toEqual([
      "note: No range is set: the operator takes 16,777,216 addresses 02:xx:xx:... at random. With --range you check one of your own.",
    ]);
  });

  it("does not guess behind what may not be read", async () => {
    const hidden = { "configmaps/cluster-networks-addons-operator-applied-cluster": FORBIDDEN };
    const cluster = { objects: { ...hidden, ...rangeMap("cluster-network-addons") } };
    expect(await linesOf(harness, "range", cluster)).toEqual([
      "unchecked: which range the MAC pool will have: needs get on configmaps " +
        "cluster-networks-addons-operator-applied-cluster in namespace cluster-network-addons",
    ]);
  });

  it("refuses a range of multicast addresses that is written down, with one to take in its place", async () => {
    expect(await linesOf(harness, "range", config("03:00:00:00:00:00", "03:00:00:00:ff:ff"))).toEqual([
      "do: NetworkAddonsConfig cluster: failed to set RangeStart: invalid mac address. Multicast addressing is not supported. " +
        "Unicast addressing must be used. The first octet is 0X3",
      expect.stringMatching(
        /^\$ kubectl patch networkaddonsconfig cluster --type=merge -p '\{"spec":\{"kubeMacPool":\{"rangeStart":"02:(..:..):00:00:00","rangeEnd":"02:\1:ff:ff:ff"\}\}\}'$/,
      ),
    ]);
  });

  it.each([
    [["--range", RANGE], [GOOD]],
    [["--range", "02-5d-1c-00-00-00-02-5d-1c-ff-ff-ff"], [GOOD]],
    [
      ["--range", "00:16:3e:00:00:00-00:16:3e:ff:ff:ff"],
      [
        expect.stringMatching(/^ok: /),
        "note: 00:16:3e:00:00:00-00:16:3e:ff:ff:ff holds addresses of manufacturers, which cards outside the cluster may have. " +
          "Take one whose first octet ends with 2, 6, A or E.",
      ],
    ],
    [
      ["--range", RANGE, "--range", "02:00:00:00:00:01-02:00:00:00:00:02"],
      [expect.stringContaining(`${RANGE} and 02:00:00:00:00:01-`)],
    ],
  ])("%j", async (argv, lines) => {
    expect(await linesOf(harness, "range", config("02:00:00:00:00:01", "02:00:00:00:ff:ff"), ...argv)).toEqual(lines);
  });

  it("names addresses of nodes in the range: of annotations, and of NodeMACs", async () => {
    const annotations = {
      "k8s.ovn.org/l3-gateway-config": '{"default":{"mac-address":"02:5D:1C:00:00:07"}}',
      other: "02:00:00:00:00:07",
    };
    const cluster: PreflightCluster = {
      lists: { nodes: [nodeOf("node-a", { annotations })] },
      groups: { "macpool.network.kubevirt.io": ["v1alpha1"] },
      hosts: [reportOf("node-b", ["02:5d:1c:00:00:08"])],
    };
    expect(await linesOf(harness, "range", cluster, "--range", RANGE)).toEqual([
      GOOD,
      "note: 02:5d:1c:00:00:07 is the address of node node-a, as its annotation k8s.ovn.org/l3-gateway-config says: the pool gives it to no VM.",
      "note: 02:5d:1c:00:00:08 is the address of interface eno1 of node node-b: the pool gives it to no VM.",
    ]);
  });

  it("names addresses that several objects have, each VM with its VMI once", async () => {
    const [one, other, alone] = [vm("a", FIRST), vm("b", FIRST), vm("c", LAST)];
    const running = (object: object) => ({ ...instanceOf(object as never), status: { phase: "Running" } });
    const pod = {
      metadata: {
        name: "p",
        namespace: "lab",
        annotations: { "k8s.v1.cni.cncf.io/networks": `[{"name":"x","mac":"${FIRST}"}]` },
      },
      status: { phase: "Pending" },
    };
    const receiver = {
      ...alone,
      metadata: { ...alone.metadata, name: "r" },
      spec: { ...(alone.spec as object), runStrategy: "WaitAsReceiver" },
    };
    const lists = {
      virtualmachines: [one, other, alone, receiver],
      virtualmachineinstances: [one, other, alone].map(running),
      pods: [pod],
    };
    expect(await linesOf(harness, "addresses", { lists })).toEqual([
      `note: ${FIRST} belongs to VirtualMachine lab/a, VirtualMachine lab/b and Pod lab/p. 2 of them run: they disturb each other ` +
        "where their networks meet. All keep it after the installation; change it in all but one.",
    ]);
    expect(await linesOf(harness, "addresses", { lists: { virtualmachines: [one, alone] } })).toEqual([
      "ok: No MAC address belongs to several objects; 2 in use.",
    ]);
    expect(await linesOf(harness, "addresses", { lists: { virtualmachines: [one], pods: FORBIDDEN } })).toEqual([
      "unchecked: addresses of pods: needs list on pods",
    ]);
  });

  const network = (name: string, plugin: object, annotations: object = {}): object => ({
    metadata: { name, namespace: "lab", annotations },
    spec: { config: JSON.stringify({ cniVersion: "0.3.1", name, ...plugin }) },
  });
  const NETWORKS = [
    network("blue", { type: "cnv-bridge", bridge: "br1" }),
    network("green", { type: "bridge", bridge: "br2" }),
    network("ovs", { type: "ovs" }, { "k8s.v1.cni.cncf.io/resourceName": "bridge.network.kubevirt.io/br2" }),
    network("made", { type: "bridge", bridge: "br7", isGateway: true, ipam: { type: "static", addresses: [] } }),
    network("macvtap", { type: "macvtap" }),
  ];
  it.each<readonly [string, PreflightCluster["lists"], readonly string[]]>([
    ["no network", {}, ["ok: No network needs a bridge of the nodes yet."]],
    [
      "no marker",
      { "network-attachment-definitions": NETWORKS, nodes: [nodeOf("a")] },
      [
        "note: Networks need br1 and br2. Which nodes have them is known after the installation: no node publishes its bridges yet.",
      ],
    ],
    [
      "all there",
      {
        "network-attachment-definitions": NETWORKS,
        nodes: [nodeOf("a", { bridges: ["br1"] }), nodeOf("b", { bridges: ["br2"] })],
      },
      ["ok: Nodes publish all bridges that networks need: br1 and br2."],
    ],
    [
      "one missing",
      { "network-attachment-definitions": NETWORKS, nodes: [nodeOf("a", { bridges: ["br1"] })] },
      ["note: No node publishes br2, which networks lab/green and lab/ovs need: VMs on it wait for a node that does."],
    ],
    [
      "hidden networks",
      { "network-attachment-definitions": FORBIDDEN },
      ["unchecked: which bridges networks need: needs list on network-attachment-definitions.k8s.cni.cncf.io"],
    ],
    [
      "hidden nodes",
      { "network-attachment-definitions": NETWORKS, nodes: FORBIDDEN },
      ["unchecked: which bridges nodes have: needs list on nodes"],
    ],
  ])("bridges: %s", async (_, lists = {}, lines) => {
    expect(await linesOf(harness, "bridges", { lists })).toEqual(lines);
  });

  it("bridges: names the node that has a bridge and does not publish it", async () => {
    const cluster: PreflightCluster = {
      lists: {
        "network-attachment-definitions": NETWORKS,
        nodes: [nodeOf("a", { bridges: ["br1"] }), deadNode("b")],
      },
      groups: { "macpool.network.kubevirt.io": ["v1alpha1"] },
      hosts: ["b", "gone"].map((name) => ({ ...reportOf(name, []), bridges: [{ name: "br2" }] })),
    };
    expect(await linesOf(harness, "bridges", cluster)).toEqual([
      "note: No node publishes br2, which networks lab/green and lab/ovs need, though b (NotReady, cordoned) reports it: VMs on it wait for a node that does.",
    ]);
  });
});
