import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { nodeLayouts } from "../../../src/operator/watch/node-layout.ts";
import { NodeView } from "../../../src/operator/watch/node-view.ts";
import { type Exchange, ScriptedServer } from "../../kube/support/scripted-server.ts";
import { eventually } from "../../support/eventually.ts";

const LINUX = { "kubernetes.io/os": "linux" };
const K3S = "v1.34.1+k3s1";

interface NodeOptions {
  readonly version?: number;
  readonly kubelet?: string;
  readonly labels?: Record<string, string>;
  readonly ready?: boolean;
}

function node(
  name: string,
  { version = 1, kubelet = "v1.36.3", labels = LINUX, ready = true }: NodeOptions = {},
): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: name, resourceVersion: String(version), labels: { zone: "z1", cpu: "fast", ...labels } },
    status: {
      nodeInfo: { kubeletVersion: kubelet, containerRuntimeVersion: "containerd://2.2.2" },
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  } as unknown as Node;
}

const NODES = [
  node("a"),
  node("b"),
  node("k3s", { kubelet: K3S }),
  node("windows", { kubelet: "v1.36.3-windows", labels: { "kubernetes.io/os": "windows" } }),
  node("virtual", { kubelet: "v1.34.1+rke2r1", labels: { ...LINUX, type: "virtual-kubelet" } }),
];

class Harness implements AsyncDisposable {
  readonly server: ScriptedServer;
  readonly view: NodeView;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  changes = 0;

  static async start(): Promise<Harness> {
    return new Harness(await ScriptedServer.start());
  }

  private constructor(server: ScriptedServer) {
    this.server = server;
    this.#client = new KubeClient({ credentials: server.credentials() });
    const onChange = () => this.changes++;
    this.view = new NodeView({ client: this.#client, log: silentLog, metrics: new Registry(), onChange });
    this.view.start(this.#stop.signal);
  }

  /** Answers the list that is asked for, and gives the watch after it. */
  async tell(nodes: readonly Node[]): Promise<Exchange> {
    (await this.server.next("GET", "/api/v1/nodes?limit=0")).list([...nodes], "10");
    return (await this.server.next("GET", "/api/v1/nodes?watch=true")).open();
  }

  get distributions(): readonly string[] {
    return nodeLayouts(this.view.list(), false, LINUX).distributions;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#client[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

it.each<[what: string, type: string, changed: Node, changes: number, distributions: string[]]>([
  [
    "a node of another distribution joins",
    "ADDED",
    node("c", { kubelet: "v1.34.1+k0s" }),
    1,
    ["Kubernetes", "k0s", "k3s"],
  ],
  ["a node joins that says nothing yet", "ADDED", node("c", { kubelet: "" }), 1, ["Kubernetes", "k3s"]],
  ["a Windows node joins", "ADDED", node("c", { labels: { "kubernetes.io/os": "windows" } }), 1, ["Kubernetes", "k3s"]],
  ["the only one of its distribution leaves", "DELETED", node("k3s", { kubelet: K3S, version: 11 }), 1, ["Kubernetes"]],
  ["a node is made anew with another", "MODIFIED", node("a", { kubelet: K3S, version: 11 }), 1, ["k3s", "Kubernetes"]],
  [
    "a node becomes virtual",
    "MODIFIED",
    node("k3s", { labels: { ...LINUX, type: "virtual-kubelet" }, version: 11 }),
    1,
    ["Kubernetes"],
  ],
  ["a node is no longer ready", "MODIFIED", node("a", { ready: false, version: 11 }), 1, ["Kubernetes", "k3s"]],
  ["a kubelet has another patch", "MODIFIED", node("a", { kubelet: "v1.36.4", version: 11 }), 0, ["Kubernetes", "k3s"]],
  [
    "a label changes that nobody reads",
    "MODIFIED",
    node("a", { labels: { ...LINUX, rack: "7" }, version: 11 }),
    0,
    ["Kubernetes", "k3s"],
  ],
])("%s", async (_, type, changed, changes, distributions) => {
  await using harness = await Harness.start();
  const watch = await harness.tell(NODES);
  await harness.view.informer.whenSynced();
  expect(harness.distributions).toEqual(["Kubernetes", "k3s"]);
  harness.changes = 0;
  watch.event(type, changed);
  await eventually("the event", () => {
    const known = harness.view.list().find(({ metadata }) => metadata.name === changed.metadata.name);
    return type === "DELETED"
      ? known === undefined
      : known?.metadata.resourceVersion === changed.metadata.resourceVersion;
  });
  expect([harness.changes, harness.distributions]).toEqual([changes, distributions]);
});

it("keeps labels that somebody asks for from then on, and tells when they change", async () => {
  await using harness = await Harness.start();
  const former = await harness.tell(NODES);
  await harness.view.informer.whenSynced();
  const zones = () => harness.view.list().map(({ metadata }) => metadata.labels?.zone);
  expect(zones()).toEqual(NODES.map(() => undefined));
  const kept = harness.view.keepLabels(["zone"], AbortSignal.timeout(5_000));
  const watch = await harness.tell(NODES);
  await kept;
  expect(zones()).toEqual(NODES.map(() => "z1"));
  await harness.view.keepLabels(["zone", "kubernetes.io/os"], AbortSignal.timeout(5_000));
  expect(harness.server.pending).toEqual([]);
  harness.changes = 0;
  former.event("DELETED", node("b", { version: 11 }));
  watch.event("MODIFIED", node("a", { labels: { ...LINUX, zone: "z2" }, version: 12 }));
  await eventually("the other zone", () => zones().includes("z2"));
  expect([harness.changes, harness.view.list().length]).toEqual([1, NODES.length]);
});

it("keeps the nodes that it has when others can't be listed", async () => {
  await using harness = await Harness.start();
  await harness.tell(NODES);
  await harness.view.informer.whenSynced();
  const giveUp = new AbortController();
  const kept = harness.view.keepLabels(["zone"], giveUp.signal);
  await harness.server.next("GET", "/api/v1/nodes?limit=0");
  giveUp.abort(new Error("no nodes in time"));
  await expect(kept).rejects.toThrow("no nodes in time");
  expect(harness.distributions).toEqual(["Kubernetes", "k3s"]);
});
