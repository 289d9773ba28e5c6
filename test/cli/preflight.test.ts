import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { machine } from "../mac-pool/machines.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { macpool, NARROW } from "./support/macpool.ts";
import {
  deadNode,
  FORBIDDEN,
  linesOf,
  nodeOf,
  type PreflightCluster,
  preflightOf,
  scriptOf,
  workloadOf,
} from "./support/preflight-cluster.ts";
import { status } from "./support/scripted-cluster.ts";

const NODES = { nodes: [nodeOf("node-a")] };

let harness: CliHarness;
beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

describe("kubectl macpool preflight", () => {
  it("ends with 0 where nothing is to be done, and only reads", async () => {
    const { exitCode, items, stderr } = await preflightOf(harness, { lists: NODES });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(items.filter(({ state }) => ["do", "unchecked"].includes(state))).toEqual([]);
    expect(new Set(harness.cluster.asked.map(({ method }) => method))).toEqual(new Set(["GET"]));
  });

  it("ends with 2 where something could not be looked at, and with 1 where something is to be done as well", async () => {
    const hidden = { ...NODES, pods: FORBIDDEN };
    expect(await preflightOf(harness, { lists: hidden })).toMatchObject({ exitCode: 2 });
    const old = await preflightOf(harness, { lists: hidden, version: "v1.29.4" });
    expect(old.exitCode).toBe(1);
    expect(JSON.parse(old.stdout)).toMatchObject({ toDo: 1, unchecked: 1, total: old.items.length });
  });

  it("names the right for each thing that an account may not read, and none of it is ok", async () => {
    const lists = Object.fromEntries(
      ["nodes", "pods", "deployments", "daemonsets", "kubevirts", "virtualmachines", "virtualmachineinstances"].map(
        (name) => [name, FORBIDDEN],
      ),
    );
    const cluster: PreflightCluster = {
      version: FORBIDDEN,
      groups: FORBIDDEN,
      lists: { ...lists, "network-attachment-definitions": FORBIDDEN },
      objects: {
        "namespaces/cluster-network-addons": FORBIDDEN,
        "networkaddonsconfigs/cluster": FORBIDDEN,
        "networks/cluster": FORBIDDEN,
      },
      webhooks: FORBIDDEN,
    };
    const { exitCode, items } = await preflightOf(harness, cluster);
    expect(exitCode).toBe(2);
    expect(items.filter(({ state }) => state !== "unchecked")).toEqual([]);
    for (const { text } of items) expect(text).toMatch(/: needs (list|get) on /);
  });

  it.each([
    [
      "an unknown token",
      { version: status(401, "Unauthorized") },
      /^error: the API server does not know these credentials/,
    ],
    [
      "a server with a fault",
      { version: status(500, "etcd is away") },
      /^error: the API server answered 500 to GET \/version\n/,
    ],
  ])("ends with 2 and one sentence for %s", async (_, cluster, sentence) => {
    const { exitCode, stdout, stderr } = await preflightOf(harness, cluster);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(sentence);
  });

  it("ends with 2 where no API server answers", async () => {
    const away = ["preflight", "--server", "http://127.0.0.1:1"];
    const { exitCode, stderr } = await macpool(harness.kubeconfig, away);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: the API server \S+ can't be reached \(ECONNREFUSED\)/);
  });

  it("fits 80 columns, with commands that a shell reads, and shows no control characters", async () => {
    const image = `registry.example.com/${"long/".repeat(20)}\u001b[2J`;
    const name = "cluster-network-addons-operator.v0.102.0";
    const evil = { apiVersion: "v1", kind: "ClusterServiceVersion", name: "$(reboot)", uid: "u" };
    const metadata = {
      labels: { "olm.owner": name, "olm.owner.kind": "ClusterServiceVersion" },
      ownerReferences: [evil],
    };
    const operator = workloadOf("cluster-network-addons-operator", "kubevirt-hyperconverged", { image, metadata });
    harness.cluster.script = scriptOf({ lists: { ...NODES, deployments: [operator] } });
    const { stdout } = await macpool(harness.kubeconfig, ["preflight"], { terminal: NARROW });
    const long = stdout.split("\n").filter((line) => line.length > 80);
    expect(long.filter((line) => !line.includes("registry.example.com"))).toEqual([]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them is to be there
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f]/);
    expect(stdout).toContain("long/\ufffd[2J");
    expect(stdout).toContain(
      `      kubectl -n kubevirt-hyperconverged delete clusterserviceversion \\\n        ${name}\n`,
    );
    expect(stdout.split("\n").at(-2)).toMatch(/^1 thing has to be done first; \d notes?, 0 not checked\.$/);
  });

  it("says at most ten lines of one kind", async () => {
    const machines = Array.from({ length: 24 }, (_, index) =>
      machine(`vm-${index}`, "lab", [{ name: "net1", macAddress: `02:00:00:00:01:${10 + Math.floor(index / 2)}` }]),
    );
    const said = await linesOf(harness, "addresses", { lists: { ...NODES, virtualmachines: machines } });
    expect(said).toHaveLength(11);
    expect(said.at(-1)).toBe("note: 2 more addresses belong to several objects.");
  });

  it.each([
    [["x"], "preflight takes no argument"],
    [["-A"], "preflight is about one namespace: write -n NAMESPACE in place of -A"],
    [["--range", "02:00:00:00:00:01"], '--range "02:00:00:00:00:01" is not FIRST-LAST, two MAC addresses'],
    [["--range", "02:00:00:00:00:01-x"], '--range "02:00:00:00:00:01-x" is not FIRST-LAST, two MAC addresses'],
    [
      ["--range", "01:00:00:00:00:01-02:00:00:00:00:00"],
      /: 01:00:00:00:00:01 is a multicast address, which no interface can have\. Write unicast addresses$/,
    ],
    [
      ["--range", "02:00:00:00:00:09-02:00:00:00:00:01"],
      / ends before it has two addresses: write the lower one first$/,
    ],
    [["-o", "name"], "preflight has no names: use -o table, json or yaml"],
  ])("refuses %j in one sentence with exit code 2", async (argv, sentence) => {
    harness.cluster.script = scriptOf({});
    const { exitCode, stdout, stderr } = await macpool(harness.kubeconfig, ["preflight", ...argv]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    const said = stderr.slice("error: ".length, -1);
    if (typeof sentence === "string") expect(said).toBe(sentence);
    else expect(said).toMatch(sentence);
  });
});

describe("preflight about the platform", () => {
  it.each<readonly [string, PreflightCluster, readonly string[]]>([
    ["a version", {}, ["ok: Kubernetes v1.34.1 is new enough: 1.30 is the oldest that will do."]],
    ["the oldest version", { version: "v1.30.0+k3s1" }, [expect.stringMatching(/^ok: /)]],
    [
      "an old version",
      { version: "v1.29.15" },
      ["do: Kubernetes v1.29.15 is too old: upgrade it to 1.30 or later.", "$ kubectl version"],
    ],
    ["a version that it can't read", { version: "devel" }, [expect.stringMatching(/^ok: Kubernetes devel /)]],
  ])("kubernetes: %s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "kubernetes", cluster)).toEqual(lines);
  });

  const kubevirts = (observedKubeVirtVersion?: string) => [
    { metadata: {}, status: { observedKubeVirtVersion, phase: "Deployed" } },
  ];
  it.each<readonly [string, PreflightCluster, readonly string[]]>([
    ["its version", { lists: { kubevirts: kubevirts("v1.8.0") } }, ["ok: KubeVirt v1.8.0, Deployed."]],
    [
      "no version",
      { lists: { kubevirts: kubevirts() } },
      ["note: KubeVirt does not say its version. It serves kubevirt.io/v1."],
    ],
    [
      "too old",
      { groups: { "kubevirt.io": ["v1alpha3"] } },
      [
        "do: KubeVirt serves kubevirt.io/v1alpha3 and not kubevirt.io/v1: upgrade it.",
        "$ kubectl get kubevirts.kubevirt.io -A",
      ],
    ],
    [
      "hidden",
      { lists: { kubevirts: FORBIDDEN } },
      ["unchecked: the version of KubeVirt: needs list on kubevirts.kubevirt.io"],
    ],
  ])("kubevirt: %s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "kubevirt", cluster)).toEqual(lines);
  });

  const OPENSHIFT = { "operator.openshift.io": ["v1"] };
  it.each<readonly [string, PreflightCluster, readonly string[]]>([
    ["is not said of others", {}, []],
    [
      "brings Multus",
      { groups: OPENSHIFT, objects: { "networks/cluster": { metadata: { name: "cluster" }, spec: {} } } },
      ["note: This is OpenShift: it brings Multus, and does not support multusDynamicNetworks and macvtap."],
    ],
    [
      "without multi-network",
      { groups: OPENSHIFT, objects: { "networks/cluster": { metadata: {}, spec: { disableMultiNetwork: true } } } },
      [
        "do: OpenShift has disableMultiNetwork: true, so there is no Multus and VMs get no other networks.",
        `$ kubectl patch networks.operator.openshift.io cluster --type=merge -p '{"spec":{"disableMultiNetwork":false}}'`,
      ],
    ],
    [
      "that may not be read",
      { groups: OPENSHIFT, objects: { "networks/cluster": FORBIDDEN } },
      ["unchecked: whether this is OpenShift: needs get on networks.operator.openshift.io cluster"],
    ],
    [
      "with SecurityContextConstraints alone",
      { groups: { "security.openshift.io": ["v1"] } },
      ["note: Accounts whose pods need their node get SecurityContextConstraints of their own."],
    ],
  ])("openshift: %s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "openshift", cluster)).toEqual(lines);
  });

  const namespace = (level: string | undefined, more: object = {}): PreflightCluster => {
    const labels = level === undefined ? {} : { "pod-security.kubernetes.io/enforce": level };
    return { objects: { "namespaces/lab": { metadata: { name: "lab", labels, ...more } } } };
  };
  const LABEL = "$ kubectl label namespace lab --overwrite pod-security.kubernetes.io/enforce=privileged";
  it.each<readonly [string, PreflightCluster, readonly string[]]>([
    ["absent", {}, ["ok: Namespace lab is not there: the package makes it, with the level it needs."]],
    ["privileged", namespace("privileged"), ["ok: Namespace lab enforces the level privileged."]],
    [
      "restricted",
      namespace("restricted"),
      ["do: Namespace lab enforces the level restricted, which refuses the pods that serve nodes.", LABEL],
    ],
    ["without a level", namespace(undefined), [expect.stringMatching(/^note: Namespace lab names no level /), LABEL]],
    [
      "being deleted",
      namespace("privileged", { deletionTimestamp: "2026-11-21T09:14:03Z" }),
      [
        "do: Namespace lab is being deleted: wait until it is gone.",
        "$ kubectl wait namespace lab --for=delete --timeout=5m",
      ],
    ],
  ])("namespace: %s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "namespace", cluster, "-n", "lab")).toEqual(lines);
  });

  it.each<readonly [string, readonly object[], readonly string[]]>([
    ["none", [], ["do: No node can run the pods that serve nodes: they need Linux.", "$ kubectl get nodes -o wide"]],
    [
      "one",
      [nodeOf("a", { kubeletVersion: "v1.34.1+k3s1" })],
      ["ok: 1 node: CNI plugins go to /var/lib/rancher/k3s/data/cni (k3s)."],
    ],
    [
      "of two distributions",
      [nodeOf("a"), nodeOf("b"), nodeOf("c", { kubeletVersion: "v1.34.1+k3s1" })],
      [
        "ok: 3 nodes: CNI plugins go to /opt/cni/bin (Kubernetes).",
        "note: c (k3s) looks for CNI plugins in /var/lib/rancher/k3s/data/cni: VMs get no networks there. " +
          "Keep VMs off by placementConfiguration.workloads of the NetworkAddonsConfig.",
      ],
    ],
    [
      "of an old k3s",
      [nodeOf("a", { kubeletVersion: "v1.30.5+k3s1" })],
      [
        "ok: 1 node: CNI plugins go to /var/lib/rancher/k3s/data/current/bin (k3s).",
        expect.stringMatching(/^note: the plugins are in .*current, which k3s points elsewhere at each upgrade/),
      ],
    ],
    [
      "with Windows",
      [nodeOf("a"), nodeOf("win", { operatingSystem: "windows" })],
      [
        "ok: 1 node: CNI plugins go to /opt/cni/bin (Kubernetes).",
        "note: win is left out: it runs windows, not Linux.",
      ],
    ],
    [
      "that has not started, and one that is no machine",
      [nodeOf("a"), deadNode("b"), { metadata: { name: "c", labels: { type: "virtual-kubelet" } } }],
      [
        "ok: 1 node: CNI plugins go to /opt/cni/bin (Kubernetes).",
        "note: b is left out: no kubelet has reported there yet (NotReady, cordoned).",
        "note: c is left out: a virtual kubelet is no machine.",
      ],
    ],
    [
      "of an architecture without an image",
      [nodeOf("a"), nodeOf("z", { architecture: "s390x" })],
      [
        "ok: 2 nodes: CNI plugins go to /opt/cni/bin (Kubernetes).",
        "do: z: the image is built for amd64 and arm64, not for s390x. Keep the components off by placementConfiguration.workloads of the NetworkAddonsConfig.",
        "$ kubectl get nodes -L kubernetes.io/arch",
      ],
    ],
  ])("nodes: %s", async (_, nodes, lines) => {
    expect(await linesOf(harness, "nodes", { lists: { nodes } })).toEqual(lines);
  });
});
