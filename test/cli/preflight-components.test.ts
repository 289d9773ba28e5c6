import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { FORBIDDEN, linesOf, type PreflightCluster, webhooksTo, workloadOf } from "./support/preflight-cluster.ts";

const OPERATOR = "cluster-network-addons-operator";
const OURS = {
  image: "registry.example.com/addons:1",
  pod: { containers: [{ name: OPERATOR, command: ["/nodejs/bin/node", "/app/src/operator/main.js"] }] },
};
const TARGET = "cluster-network-addons";
const HCO = "kubevirt-hyperconverged";
const OLM = {
  metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ClusterServiceVersion", name: "cnao.v1", uid: "u" }] },
};

let harness: CliHarness;
beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const deployments = (...all: readonly object[]): PreflightCluster => ({ lists: { deployments: all } });
const config = (spec: object, labels: object = {}): PreflightCluster => ({
  objects: { "networkaddonsconfigs/cluster": { metadata: { name: "cluster", labels }, spec } },
});

describe("preflight about other operators", () => {
  it.each<readonly [string, PreflightCluster, readonly unknown[]]>([
    ["none", {}, ["ok: No other operator of this kind is there."]],
    [
      "in the namespace of the installation",
      deployments(workloadOf(OPERATOR, TARGET)),
      [
        `do: Deployment ${OPERATOR} in ${TARGET} runs another operator, quay.invalid/x:1. Delete it; its components go on, and become this operator's. Then apply the package with --force-conflicts.`,
        `$ kubectl -n ${TARGET} delete deployment ${OPERATOR}`,
      ],
    ],
    [
      "in another namespace",
      deployments(workloadOf(OPERATOR, "other")),
      [
        expect.stringMatching(/^do: .* This operator stands back while it is alive\. Install into its namespace/),
        `$ kubectl -n other scale deployment ${OPERATOR} --replicas=0`,
      ],
    ],
    [
      "in another namespace, scaled to zero",
      deployments(workloadOf(OPERATOR, "other", { replicas: 0 })),
      [
        `ok: Deployment ${OPERATOR} in other runs another operator, quay.invalid/x:1, and is scaled to zero: this one takes over.`,
      ],
    ],
    [
      "that may not write the status, whatever its name",
      { ...deployments(workloadOf(OPERATOR, "tenant")), mayWriteStatus: false },
      [
        expect.stringMatching(
          /^note: .* Its account may not write the status of the NetworkAddonsConfig: it is ignored\.$/,
        ),
      ],
    ],
    [
      "whose rights may not be asked for",
      { ...deployments(workloadOf(OPERATOR, "other")), mayWriteStatus: FORBIDDEN },
      [
        expect.stringContaining("while it is alive if its account may write the status of the NetworkAddonsConfig."),
        `$ kubectl -n other scale deployment ${OPERATOR} --replicas=0`,
      ],
    ],
    [
      "that OLM keeps",
      deployments(workloadOf(OPERATOR, "other", OLM)),
      [
        expect.stringMatching(
          /^do: .* OLM keeps it there\. Take it out of OLM, its Subscription first; what it deployed stays\.$/,
        ),
        "$ kubectl -n other get subscription",
        "$ kubectl -n other delete subscription NAME",
        "$ kubectl -n other delete clusterserviceversion cnao.v1",
      ],
    ],
    [
      "that HCO keeps",
      {
        ...deployments(workloadOf(OPERATOR, HCO, OLM)),
        ...config({}, { "app.kubernetes.io/managed-by": "hco-operator" }),
      },
      [
        expect.stringMatching(
          /^do: .* HCO keeps it there\. Give HCO's ClusterServiceVersion the image of this operator instead\.$/,
        ),
        `$ kubectl -n ${HCO} edit clusterserviceversion cnao.v1`,
      ],
    ],
    [
      "this product, installed already",
      deployments(workloadOf(OPERATOR, TARGET, OURS)),
      [
        `note: Deployment ${OPERATOR} in ${TARGET} is this product's operator: it is installed, and another installation is an upgrade.`,
      ],
    ],
    [
      "this product elsewhere",
      deployments(workloadOf(OPERATOR, "other", OURS)),
      [
        `do: Deployment ${OPERATOR} in other is this product's operator, and a cluster has one installation: upgrade that one.`,
        "$ kubectl macpool preflight -n other",
      ],
    ],
    [
      "that may not be read",
      { lists: { deployments: FORBIDDEN } },
      ["unchecked: whether Cluster Network Addons Operator is there: needs list on deployments"],
    ],
  ])("%s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "operator", cluster)).toEqual(lines);
  });
});

describe("preflight about what is there already", () => {
  const MANAGER = "kubemacpool-mac-controller-manager";
  it.each<readonly [string, PreflightCluster, readonly unknown[]]>([
    [
      "in the namespace of the installation",
      { ...deployments(workloadOf(MANAGER, TARGET)), webhooks: webhooksTo(TARGET) },
      [`note: KubeMacPool in ${TARGET} is taken over: it serves until the new pods do. VMs keep their addresses.`],
    ],
    [
      "in another namespace",
      { ...deployments(workloadOf(MANAGER, "pool")), webhooks: webhooksTo("pool") },
      [
        expect.stringMatching(
          /^note: .* serves VMs, and the new MAC pool waits until it is gone\. Scale it to zero after the installation/,
        ),
        `$ kubectl -n pool scale deployment ${MANAGER} --replicas=0`,
      ],
    ],
    [
      "that no webhook asks",
      { ...deployments(workloadOf(MANAGER, "pool")), webhooks: webhooksTo("elsewhere") },
      [`ok: KubeMacPool in pool is asked by no webhook: it is left alone.`],
    ],
    [
      "with webhooks that may not be read",
      { ...deployments(workloadOf(MANAGER, "pool")), webhooks: FORBIDDEN },
      [
        `unchecked: whether the API server asks KubeMacPool in pool: needs get on mutatingwebhookconfigurations kubemacpool-mutator`,
      ],
    ],
  ])("a KubeMacPool %s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "mac pool", cluster)).toEqual(lines);
  });

  it("DaemonSets that do the same: those of the same name roll, others stay beside", async () => {
    const daemonsets = [
      workloadOf("bridge-marker", TARGET),
      workloadOf("kube-cni-linux-bridge-plugin", "other"),
      workloadOf("marker", "third", { image: "quay.invalid:5000/team/bridge-marker@sha256:00" }),
      workloadOf("cni-plugins-of-somebody", "kube-system"),
    ];
    expect(await linesOf(harness, "daemons", { lists: { daemonsets } })).toEqual([
      `note: DaemonSet bridge-marker in ${TARGET} is taken over and rolls in place: running pods keep their networks.`,
      expect.stringMatching(
        /^note: DaemonSet kube-cni-linux-bridge-plugin in other stays beside .*replaceForeignPlugins is true\.$/,
      ),
      "$ kubectl -n other delete daemonset kube-cni-linux-bridge-plugin",
      "note: DaemonSet marker in third (bridge-marker) stays beside this product's own. Delete it after the installation.",
      "$ kubectl -n third delete daemonset marker",
    ]);
  });

  it("nothing about components of this product that another namespace has", async () => {
    const cluster = {
      lists: {
        deployments: [workloadOf(OPERATOR, "own", OURS), workloadOf(MANAGER, "own")],
        daemonsets: [workloadOf("bridge-marker", "own"), workloadOf("marker", "third", { image: "x/bridge-marker:1" })],
      },
      webhooks: webhooksTo("own"),
    };
    expect(await linesOf(harness, "mac pool", cluster)).toEqual(["ok: No other KubeMacPool is there."]);
    expect(await linesOf(harness, "daemons", cluster)).toEqual([
      expect.stringMatching(/^note: DaemonSet marker in third /),
      "$ kubectl -n third delete daemonset marker",
    ]);
  });

  const multus = (namespace: string, name: string): PreflightCluster["lists"] => ({
    daemonsets: [workloadOf(name, namespace, { image: "ghcr.io/k8snetworkplumbingwg/multus-cni:v4" })],
  });
  it.each<readonly [string, PreflightCluster, unknown]>([
    [
      "none",
      {},
      "note: No DaemonSet of Multus is there, although NetworkAttachmentDefinitions are served: write multus: {} into the NetworkAddonsConfig.",
    ],
    [
      "one of others",
      { lists: multus("kube-system", "kube-multus-ds") ?? {} },
      "ok: Multus is there, DaemonSet kube-multus-ds in kube-system: leave multus out of the NetworkAddonsConfig.",
    ],
    ["asked for", config({ multus: {} }), "ok: The NetworkAddonsConfig asks for multus: it is deployed."],
    [
      "that of the predecessor",
      { ...config({ multus: {} }), lists: multus(TARGET, "multus") ?? {} },
      `ok: The NetworkAddonsConfig asks for multus: it rolls in place of DaemonSet multus in ${TARGET}.`,
    ],
    [
      "asked for beside another one",
      { ...config({ multus: {} }), lists: multus("kube-system", "kube-multus-ds") ?? {} },
      expect.stringMatching(
        /^note: .* DaemonSet kube-multus-ds in kube-system is another one: one of the two is too many on a node\.$/,
      ),
    ],
    [
      "that may not be read",
      { lists: { daemonsets: FORBIDDEN } },
      "unchecked: whether there is a Multus: needs list on daemonsets",
    ],
  ])("Multus: %s", async (_, cluster, line) => {
    expect(await linesOf(harness, "multus", cluster)).toEqual([line]);
  });

  it.each<readonly [string, PreflightCluster, readonly unknown[]]>([
    ["none", {}, ["ok: No NetworkAddonsConfig is there: the operator deploys nothing until you write one."]],
    ["a good one", config({ linuxBridge: {} }), ["ok: The operator takes the NetworkAddonsConfig as it is."]],
    [
      "a refused one",
      config({ kubeMacPool: { rangeStart: "02:00:00:00:00:00" } }),
      [
        "do: This operator refuses the NetworkAddonsConfig: both or none of the KubeMacPool ranges needs to be configured",
        "$ kubectl edit networkaddonsconfig cluster",
      ],
    ],
    [
      "one with keys of older versions",
      config({ nmstate: {}, linuxBridge: {} }),
      [expect.stringMatching(/^note: This operator does not know nmstate of the NetworkAddonsConfig and drops it\./)],
    ],
    [
      "one that needs cert-manager",
      config({ kubevirtIpamController: {} }),
      ["note: kubevirtIpamController needs cert-manager, which is not there: it waits until it is."],
    ],
    [
      "one whose cert-manager is there",
      { ...config({ kubevirtIpamController: {} }), groups: { "cert-manager.io": ["v1"] } },
      ["ok: The operator takes the NetworkAddonsConfig as it is."],
    ],
  ])("NetworkAddonsConfig: %s", async (_, cluster, lines) => {
    expect(await linesOf(harness, "config", cluster)).toEqual(lines);
  });

  it("images that the present operator takes from elsewhere, and its pull Secrets", async () => {
    const env = {
      MULTUS_IMAGE: "registry.example.com:5000/mirror/multus-cni:v4.3.0",
      OVS_CNI_IMAGE: "ghcr.io/k8snetworkplumbingwg/ovs-cni-plugin:v0.38.0",
      MACVTAP_CNI_IMAGE: "",
      CORE_DNS_IMAGE: "$(reboot)",
      KUBEVIRT_IPAM_CONTROLLER_IMAGE: "team/ipam-controller:1",
    };
    const operator = workloadOf(OPERATOR, TARGET, { env });
    const pod = { imagePullSecrets: [{ name: "registry-login" }] };
    const spec = (operator as { spec: { template: { spec: object } } }).spec;
    Object.assign(spec.template.spec, pod);
    expect(await linesOf(harness, "images", deployments(operator))).toEqual([
      `note: Deployment ${OPERATOR} in ${TARGET} takes images from elsewhere than this operator: MULTUS_IMAGE registry.example.com:5000/mirror/multus-cni. To keep them, set them after the installation, in the chart by componentImages.`,
      `$ kubectl -n ${TARGET} set env deployment/${OPERATOR} MULTUS_IMAGE=registry.example.com:5000/mirror/multus-cni:v4.3.0`,
      `note: Deployment ${OPERATOR} in ${TARGET} names images that this operator refuses: CORE_DNS_IMAGE and KUBEVIRT_IPAM_CONTROLLER_IMAGE. It takes its own there until you set others: an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, such as registry.example.com/multus:v4, without https://. Images of Docker Hub begin with docker.io/`,
      `note: Deployment ${OPERATOR} in ${TARGET} has the pull Secret registry-login: name what you need in your package.`,
    ]);
  });
});
