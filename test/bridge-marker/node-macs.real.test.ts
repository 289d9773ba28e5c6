import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NODE_MACS_CRD } from "../../src/api/crds.ts";
import { apiVersionOf, NODE_MACS } from "../../src/api/kinds.ts";
import { BRIDGE_MARKER, OPERATOR_NAME } from "../../src/api/names.ts";
import type { NodeMACs } from "../../src/api/node-macs.ts";
import { MAX_NODE_MACS, MAX_UPLINKS } from "../../src/api/node-report.ts";
import { MAX_STATIONS, MAX_VLAN_RANGES } from "../../src/api/node-state.ts";
import { isNotFound } from "../../src/kube/client/api-error.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { scriptedMonitor, seenLink } from "../links/scripted-monitor.ts";
import { issueToken } from "../mac-pool/account.ts";
import { InstalledOperator, NAMESPACE } from "../operator/support/installed-operator.ts";
import { eventually } from "../support/eventually.ts";
import { ProductProcess } from "../support/product-process.ts";
import { NetworkNamespace } from "./network-namespace.ts";

const NODES = ["node-a", "node-b"] as const;
type NodeName = (typeof NODES)[number];
const REPORTS = NODE_MACS as Resource<NodeMACs>;
const MONITOR = join(
  import.meta.dirname,
  "../../dist/cni",
  process.arch === "x64" ? "amd64" : process.arch,
  "link-monitor",
);
const OWN_NODE_ONLY = "may report the addresses of its own node only";

/** Real tokens of two nodes, on a real API server, with what the operator applied for linuxBridge alone. */
describe("the report of a node's addresses, on a real API server", { timeout: 120_000 }, () => {
  let cluster: InstalledOperator;
  const kubeconfigs = new Map<string, string>();
  const clients = new Map<string, KubeClient>();
  const uids = new Map<string, string>();
  let marker: ProductProcess | undefined;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    for (const node of NODES) await addNode(node);
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {} });
    await cluster.rollOutUntilAvailable();
    for (const node of NODES) {
      uids.set(node, (await cluster.admin.get(RESOURCES.nodes, { name: node })).metadata.uid ?? "");
      await addToken(node, BRIDGE_MARKER, await podOn(node));
    }
    await addToken("nowhere", BRIDGE_MARKER);
    await addToken("operator", OPERATOR_NAME);
    await eventually("the policy is in force", async () => (await write("nowhere", "node-a")).includes(OWN_NODE_ONLY));
  }, 120_000);
  afterEach(async () => {
    await marker?.[Symbol.asyncDispose]();
    marker = undefined;
    for (const name of NODES) await cluster.admin.delete(REPORTS, { name }).catch(() => {});
  });
  afterAll(async () => {
    for (const client of clients.values()) await client[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** With what kubelet registers: the API server would fill in a missing `allocatable` with the marker's next patch. */
  async function addNode(name: NodeName): Promise<void> {
    await cluster.addNode(name);
    const body = { status: { capacity: { cpu: "4" }, allocatable: { cpu: "4" } } };
    await cluster.admin.patch(RESOURCES.nodes, { name }, { type: "merge", body }, { subresource: "status" });
  }

  async function addToken(key: string, account: string, pod?: Awaited<ReturnType<typeof podOn>>): Promise<void> {
    const token = await issueToken(cluster.admin, { namespace: NAMESPACE, name: account }, pod);
    const kubeconfig = cluster.controlPlane.tokenKubeconfig(token);
    kubeconfigs.set(key, kubeconfig);
    clients.set(key, new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) }));
  }

  /** What a token is bound to that kubelet has made for a marker. */
  async function podOn(node: NodeName) {
    const name = `marker-on-${node}`;
    const spec = { nodeName: node, serviceAccountName: BRIDGE_MARKER, containers: [{ name: "main", image: "any" }] };
    const pod = await cluster.admin.create(RESOURCES.pods, { metadata: { namespace: NAMESPACE, name }, spec });
    return { apiVersion: "v1", kind: "Pod", name, uid: pod.metadata.uid ?? "" };
  }

  const ownedBy = (node: NodeName) => ({ apiVersion: "v1", kind: "Node", name: node, uid: uids.get(node) ?? "" });
  const numbered = (number: number) => ({
    mac: `52:54:00:00:00:${number.toString(16).padStart(2, "0")}`,
    interface: "eno1",
  });

  /** The refusal, or nothing. */
  async function write(
    as: string,
    node: NodeName,
    metadata: object = {},
    addresses: readonly object[] = [numbered(1)],
    lists: { readonly bridges?: readonly object[]; readonly stations?: readonly object[] } = {},
  ): Promise<string> {
    const client = clients.get(as);
    const body = {
      apiVersion: apiVersionOf(NODE_MACS),
      kind: NODE_MACS.kind,
      metadata: { name: node, ownerReferences: [ownedBy(node)], ...metadata },
      addresses,
      ...lists,
    };
    const answer = await client?.raw("PATCH", `/apis/${apiVersionOf(NODE_MACS)}/${NODE_MACS.plural}/${node}`, {
      body: JSON.stringify(body),
      headers: { "content-type": "application/apply-patch+yaml" },
      query: { fieldManager: "test", force: "true" },
    });
    if (answer === undefined) throw new Error(`there is no token of ${as}`);
    return answer.status < 300 ? "" : String((answer.body as { message?: string }).message);
  }

  it("is written for its own node, created and changed, with a token that names the node", async () => {
    expect(await write("node-a", "node-a")).toBe("");
    expect(await write("node-a", "node-a", {}, [numbered(2), numbered(3)])).toBe("");
    expect(await write("node-b", "node-b", {}, [])).toBe("");
    expect((await cluster.admin.get(REPORTS, { name: "node-a" })).addresses).toEqual([numbered(2), numbered(3)]);
  });

  it("is refused for another node, without a node, with more than addresses, or with too many of them", async () => {
    await write("node-b", "node-b");
    const many = Array.from({ length: MAX_NODE_MACS + 1 }, (_, number) => numbered(number));
    const hostile = { mac: "52:54:00:00:00:01", interface: "eth0\u001b[2J" };
    const long = { mac: "52:54:00:00:00:01", interface: "a-name-of-16-byt" };
    const owners = (...more: object[]) => ({ ownerReferences: more });
    const table: [string, string][] = [
      [await write("node-a", "node-b"), OWN_NODE_ONLY],
      [await write("nowhere", "node-a"), OWN_NODE_ONLY],
      [await write("nowhere", "node-b"), OWN_NODE_ONLY],
      [await write("operator", "node-a"), "only to hand it on"],
      [await write("node-a", "node-a", owners()), "has one owner, the node"],
      [await write("node-a", "node-a", owners({ ...ownedBy("node-a"), name: "node-b" })), "has one owner, the node"],
      [await write("node-a", "node-a", owners({ ...ownedBy("node-a"), kind: "ConfigMap" })), "has one owner, the node"],
      [
        await write("node-a", "node-a", owners({ ...ownedBy("node-a"), blockOwnerDeletion: true })),
        "has one owner, the node",
      ],
      [await write("node-a", "node-a", owners(ownedBy("node-a"), { ...ownedBy("node-b") })), "has one owner, the node"],
      [await write("node-a", "node-a", { finalizers: ["example.com/held"] }), "may write addresses and bridges only"],
      [await write("node-a", "node-a", { labels: { a: "b" } }), "may write addresses and bridges only"],
      [
        await write("node-a", "node-a", { annotations: { a: "b".repeat(100_000) } }),
        "may write addresses and bridges only",
      ],
      [await write("node-a", "node-a", {}, many), `must have at most ${MAX_NODE_MACS} items`],
      [await write("node-a", "node-a", {}, [long]), "15"],
      [await write("node-a", "node-a", {}, [hostile]), "printable ASCII characters"],
      [await write("node-a", "node-a", {}, [{ mac: "52-54-00-00-00-01", interface: "a" }]), "six lower-case octets"],
    ];
    for (const [refusal, expected] of table) expect(refusal).toContain(expected);
    const uplink = { name: "eno1", carrier: true, mtu: 1500 };
    const ranges = Array.from({ length: MAX_VLAN_RANGES + 1 }, (_, number) => `${number + 1}`);
    const uplinks: [readonly object[], string][] = [
      [Array.from({ length: MAX_UPLINKS + 1 }, () => uplink), `must have at most ${MAX_UPLINKS} items`],
      [[{ ...uplink, vlans: ranges }], `must have at most ${MAX_VLAN_RANGES} items`],
      [[{ ...uplink, vlans: ["100-110\n"] }], "vlans"],
      [[{ ...uplink, untaggedVlan: 4095 }], "4094"],
      [[{ ...uplink, name: "e\u001b[2J" }], "printable ASCII characters"],
    ];
    for (const [wrong, expected] of uplinks) {
      const bridge = { name: "br1", mtu: 1500, vlanFiltering: true, uplinks: wrong };
      expect(await write("node-a", "node-a", {}, [], { bridges: [bridge] })).toContain(expected);
    }
    const station = { mac: "02:5d:1c:00:00:a3", bridge: "br1", uplink: "eno2", lastSeen: "2026-01-02T03:04:05Z" };
    const stations: [readonly object[], string][] = [
      [Array.from({ length: MAX_STATIONS + 1 }, () => station), `must have at most ${MAX_STATIONS} items`],
      [[{ ...station, mac: "02-5d-1c-00-00-a3" }], "six lower-case octets"],
      [[{ ...station, uplink: "e\u001b[2J" }], "printable ASCII characters"],
      [[{ ...station, bridge: "a-name-of-16-byt" }], "15"],
      [[{ ...station, vlan: 4095 }], "4094"],
      [[{ ...station, lastSeen: "yesterday" }], "lastSeen"],
      [[{ ...station, lastFlap: "2026-01-02T03:04:05.000000000Z" }], "20"],
    ];
    for (const [wrong, expected] of stations) {
      expect(await write("node-a", "node-a", {}, [], { stations: wrong })).toContain(expected);
    }
    expect((await cluster.admin.list(REPORTS)).items.map(({ metadata }) => metadata.name)).toEqual(["node-b"]);
  });

  it("can't be read or deleted by a marker", async () => {
    await write("node-a", "node-a");
    const client = clients.get("node-a");
    await expect(client?.get(REPORTS, { name: "node-a" })).rejects.toThrow("forbidden");
    await expect(client?.list(REPORTS)).rejects.toThrow("forbidden");
    await expect(client?.delete(REPORTS, { name: "node-a" })).rejects.toThrow("forbidden");
  });

  /** Starts the marker of node-a with its own token. */
  async function startMarker(monitor: string): Promise<ProductProcess> {
    const kubeconfig = join(cluster.controlPlane.directory, "marker.kubeconfig");
    await writeFile(kubeconfig, kubeconfigs.get("node-a") ?? "");
    marker = await ProductProcess.start({
      product: BRIDGE_MARKER,
      args: ["-node-name", "node-a", "-health-probe-port", "0"],
      env: { KUBECONFIG: kubeconfig, LINK_MONITOR: monitor },
    });
    return marker;
  }

  const reported = async (): Promise<string[] | undefined> => {
    const report = await cluster.admin.get(REPORTS, { name: "node-a" }).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    return report?.addresses.map(({ mac, interface: name }) => `${name} ${mac}`);
  };

  const untilReported = (process: ProductProcess, expected: readonly string[]) =>
    eventually(
      `the report of ${expected.length} addresses`,
      async () => JSON.stringify(await reported()) === JSON.stringify(expected),
      { limitMs: 20_000, state: () => process.log },
    );

  it("follows physical interfaces and bonds, and is empty once linuxBridge is removed", async () => {
    const { command, say } = await scriptedMonitor(cluster.controlPlane.directory);
    await say(
      seenLink(1, "lo", "", "00:00:00:00:00:00"),
      seenLink(2, "eno1", "", "52:54:00:00:00:01"),
      seenLink(3, "br1", "bridge", "52:54:00:00:00:01"),
      seenLink(4, "veth1", "veth", "52:54:00:00:00:04"),
      { event: "synced" },
    );
    const process = await startMarker(command);
    await untilReported(process, ["eno1 52:54:00:00:00:01"]);
    await say(seenLink(5, "bond0", "bond", "52:54:00:00:00:02"));
    await say(seenLink(2, "eno1", "", "52:54:00:00:00:02", { permanentMac: "52:54:00:00:00:01" }));
    await untilReported(process, ["bond0 52:54:00:00:00:02", "eno1 52:54:00:00:00:01"]);
    // Without pods, the operator would take the marker's rights away at once.
    await cluster.stop();
    const { code, stderr } = await cluster.applyConfig({ multus: {} });
    expect([code, stderr]).toEqual([0, ""]);
    expect(await process.stop()).toBe(0);
    expect(await reported(), process.log).toEqual([]);
    await cluster.applyConfig({ linuxBridge: {} });
  });

  it("has what is seen beyond the uplinks", async () => {
    const { command, say } = await scriptedMonitor(cluster.controlPlane.directory);
    await say(
      seenLink(3, "br1", "bridge", "52:54:00:00:00:01", { mtu: 1500 }),
      seenLink(4, "eno2", "", "52:54:00:00:00:04", { master: 3, carrier: true, mtu: 1500 }),
      { event: "synced" },
      { event: "stations", stations: [[0x02_5d_1c_00_00_a3, 4, 100, 5, 5]], more: 3 },
    );
    const process = await startMarker(command);
    await untilReported(process, ["eno2 52:54:00:00:00:04"]);
    const time = expect.stringMatching(/^20\d\d-.*Z$/);
    const station = { mac: "02:5d:1c:00:00:a3", bridge: "br1", uplink: "eno2", vlan: 100 };
    const { stations, moreStations } = await cluster.admin.get(REPORTS, { name: "node-a" });
    expect([stations, moreStations]).toEqual([[{ ...station, lastSeen: time, lastFlap: time }], 3]);
    expect(await process.stop()).toBe(0);
  });

  it("has no address that software made, and the bridges as a real kernel has them", async () => {
    const namespace = await NetworkNamespace.create();
    try {
      await namespace.run("ip", "link", "add", "br1", "mtu", "1400", "type", "bridge");
      await namespace.run("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1");
      await namespace.run("ip", "tuntap", "add", "dev", "tap0", "mode", "tap");
      await untilReported(await startMarker(await namespace.wrapper(MONITOR)), []);
      const { bridges } = await cluster.admin.get(REPORTS, { name: "node-a" });
      const off = { vlanFiltering: false, spanningTree: false, hasAddress: false };
      expect(bridges).toMatchObject([{ name: "br1", mtu: 1400, ...off, uplinks: [] }]);
    } finally {
      await namespace[Symbol.asyncDispose]();
    }
  });

  it("is not missed by a marker whose cluster has no such kind", async () => {
    await cluster.stop();
    const { name } = NODE_MACS_CRD.metadata;
    await cluster.admin.delete(RESOURCES.validatingAdmissionPolicyBindings, { name: "cluster-network-addons-removal" });
    await eventually("the definition is gone", async () => {
      await cluster.admin.delete(RESOURCES.crds, { name }).catch(() => {});
      return cluster.admin.get(RESOURCES.crds, { name }).then(() => false, isNotFound);
    });
    const { command, say } = await scriptedMonitor(cluster.controlPlane.directory);
    await say(seenLink(2, "eno1", "", "52:54:00:00:00:01"), seenLink(3, "br9", "bridge", "52:54:00:00:00:03"), {
      event: "synced",
    });
    const process = await startMarker(command);
    await eventually(
      "the bridge is published",
      async () => {
        const { status } = await cluster.admin.get(RESOURCES.nodes, { name: "node-a" });
        return status?.capacity?.["bridge.network.kubevirt.io/br9"] === "1k";
      },
      { limitMs: 20_000, state: () => process.log },
    );
    expect(await process.stop()).toBe(0);
    expect(process.log).not.toMatch(/NodeMACs|MAC addresses/i);
  });
});
