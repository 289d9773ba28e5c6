import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION, NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../src/api/names.ts";
import type { Step } from "../../src/api/way.ts";
import { defineResource, type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { runCommand } from "../cluster/command.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { instanceOf, machine, macsOf } from "../mac-pool/machines.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { bindClusterRole, grantRules, user } from "../support/rights.ts";
import { CliProcess } from "./support/cli-process.ts";

const VIEWER = user("viewer");
const EVENTS = defineResource("v1", "Event", "events", true);
const POD = { name: "virt-launcher-web-x7k2p", namespace: "lab" };

describe("kubectl macpool explain on a real API server", () => {
  let harness: PoolFixture;
  let cli: CliProcess;
  let mac: string;
  let instance: KubeObject;

  beforeAll(async () => {
    cli = await CliProcess.build();
    harness = await PoolFixture.start();
    const { admin } = harness;
    await harness.startReplica("one");
    await harness.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" }] });
    await harness.registerWebhooks();
    await admin.create(RESOURCES.crds, nadCrd as never);
    await admin.create(RESOURCES.namespaces, { metadata: { name: "lab" } });
    await admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "lab" } });
    // What the role `view` gathers where a controller manager runs, and KubeVirt's part of it.
    await bindClusterRole(admin, "system:aggregate-to-view", VIEWER, { namespace: "lab" });
    const resources = ["virtualmachines", "virtualmachineinstances"];
    const kubevirt = [{ apiGroups: ["kubevirt.io"], resources, verbs: ["get", "list"] }];
    await grantRules(admin, VIEWER, kubevirt, { namespace: "lab", name: "kubevirt-view" });
    await createNode();
    await createNetwork();
    const vm = await admin.create(KINDS.virtualMachines, machine("web", "lab", [{ name: "net1", network: "blue" }]));
    mac = macsOf(vm)[0] ?? "";
    instance = await admin.create(KINDS.instances, instanceOf(vm));
    await cli.write("viewer.kubeconfig", await harness.controlPlane.userKubeconfig("viewer"));
    await cli.write("admin.kubeconfig", harness.controlPlane.kubeconfigText);
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  async function createNode(): Promise<void> {
    const capacity = { "bridge.network.kubevirt.io/br1": "1k" };
    const node = await harness.admin.create(RESOURCES.nodes, { metadata: { name: "node-a" }, status: { capacity } });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "node-a", uid: node.metadata.uid ?? "" }];
    const uplinks = [{ name: "eno2", carrier: true, mtu: 1500, vlans: ["1", "100"], untaggedVlan: 1 }];
    const bridges = [{ name: "br1", mtu: 1500, vlanFiltering: true, defaultVlan: 1, uplinks }];
    await harness.admin.create(KINDS.nodeMacs, {
      metadata: { name: "node-a", ownerReferences },
      addresses: [],
      bridges,
    });
  }

  async function createNetwork(): Promise<void> {
    const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };
    const config = JSON.stringify({ cniVersion: "0.3.1", name: "blue", type: "cnv-bridge", bridge: "br1", vlan: 100 });
    await harness.admin.create(KINDS.networks, {
      metadata: { name: "blue", namespace: "lab", annotations },
      spec: { config },
    });
  }

  async function createLauncher(spec: object): Promise<KubeObject> {
    const { name = "", uid = "" } = instance.metadata;
    const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name, uid }];
    return harness.admin.create(KINDS.pods, {
      metadata: { ...POD, labels: { "kubevirt.io": "virt-launcher" }, ownerReferences },
      spec: { ...spec, containers: [{ name: "compute", image: "none" }] },
    });
  }

  async function explain(
    who: "viewer" | "admin",
    what = "web",
  ): Promise<{ readonly code: number | null; readonly steps: readonly Step[] }> {
    const KUBECONFIG = join(cli.folder, `${who}.kubeconfig`);
    const command = [join(cli.folder, "kubectl-macpool"), "explain", what, "-n", "lab", "-o", "json"];
    const { code, stdout, stderr } = await runCommand(command, { env: { ...cli.env, KUBECONFIG } });
    if (stdout === "") throw new Error(stderr);
    return { code, steps: JSON.parse(stdout).way[0].steps };
  }

  const states = (steps: readonly Step[]) => steps.map(({ step, state, text }) => [step, state, text]);

  it("says of a VM without a pod what is known", async () => {
    const { code, steps } = await explain("admin");
    expect(code).toBe(0);
    expect(states(steps)).toEqual([
      ["accepted", "ok", `${mac}, automatic, Allocated`],
      ["network", "ok", "lab/blue: bridge br1, VLAN 100"],
      ["bridge", "ok", "the only node has br1: node-a"],
      ["scheduled", "unknown", "KubeVirt has not made its pod yet"],
      ["alone", "ok", `no claim gives ${mac} to another object, and no node has it`],
    ]);
  });

  it("translates the words of the scheduler", async () => {
    await createLauncher({});
    const message = "0/1 nodes are available: 1 Insufficient bridge.network.kubevirt.io/br9.";
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
    const body = { status: { phase: "Pending", conditions } };
    await harness.admin.patch(KINDS.pods, POD, { type: "merge", body }, { subresource: "status" });
    expect((await explain("viewer")).steps.at(-1)).toMatchObject({ state: "wrong", text: "0/1 nodes have bridge br9" });
    await harness.admin.delete(KINDS.pods, POD, { gracePeriodSeconds: 0 });
  });

  it("shows a viewer of the namespace the error of the plugin, from the pod's events", async () => {
    const { uid = "" } = (await createLauncher({ nodeName: "node-a" })).metadata;
    await harness.admin.create(EVENTS, {
      metadata: { name: "sandbox", namespace: "lab" },
      involvedObject: { apiVersion: "v1", kind: "Pod", ...POD, uid },
      reason: "FailedCreatePodSandBox",
      type: "Warning",
      message: "failed (add): [lab/web/1:blue]: error adding container to network: no bridge br1",
      lastTimestamp: "2026-11-21T09:14:03Z",
    });
    expect((await explain("viewer")).steps.at(-1)).toEqual({
      step: "attached",
      state: "wrong",
      text: "error adding container to network: no bridge br1",
      remedy: `kubectl describe pod ${POD.name} -n ${POD.namespace} shows each attempt.`,
    });
  });

  it("says of the VMI and the launcher of a VM that they have its address", async () => {
    const networks = JSON.stringify([{ name: "blue", interface: "pod1b2c", mac }]);
    const body = { metadata: { annotations: { [NETWORKS_ANNOTATION]: networks } } };
    await harness.admin.patch(KINDS.pods, POD, { type: "merge", body });
    const accepted = ["accepted", "ok", `${mac}, automatic, Allocated, of VirtualMachine lab/web`];
    for (const what of ["vmi/web", `pod/${POD.name}`]) {
      const { code, steps } = await explain("admin", what);
      expect([code, states(steps)[0]]).toEqual([0, accepted]);
    }
  });

  it("goes the whole way for an administrator, and for a viewer as far as he may see", async () => {
    const attachments = JSON.stringify([{ name: "lab/blue", interface: "pod1b2c", mac }]);
    const body = { metadata: { annotations: { [NETWORK_STATUS_ANNOTATION]: attachments } } };
    await harness.admin.patch(KINDS.pods, POD, { type: "merge", body });
    const whole = await explain("admin");
    expect(whole.steps.filter(({ state }) => state !== "ok")).toEqual([]);
    expect(whole.steps.at(-1)?.text).toBe("frames of VLAN 100 leave node-a by eno2");
    const seen = await explain("viewer");
    expect(seen.code).toBe(0);
    expect(states(seen.steps)).toEqual([
      ["accepted", "unknown", `${mac}; claims are not visible to you: needs list on macclaims`],
      ["network", "unknown", "lab/blue is not visible to you: needs get on network-attachment-definitions"],
      ["bridge", "unknown", "the network is not visible to you: needs get on network-attachment-definitions"],
      ["scheduled", "ok", `pod ${POD.name} on node-a`],
      ["attached", "ok", `as pod1b2c with ${mac}`],
      ["kernel", "unknown", "the network is not visible to you: needs get on network-attachment-definitions"],
      ["alone", "unknown", `whether others have ${mac} is not visible to you: needs list on macclaims`],
      ["frames", "unknown", "the network is not visible to you: needs get on network-attachment-definitions"],
    ]);
  });

  it("shows a viewer which right the nodes need, once he sees the network", async () => {
    const nads = [{ apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"], verbs: ["get"] }];
    await grantRules(harness.admin, VIEWER, nads, { namespace: "lab", name: "nad-view" });
    const { steps } = await explain("viewer");
    const texts = Object.fromEntries(steps.map(({ step, text }) => [step, text]));
    expect(texts).toMatchObject({
      network: "lab/blue: bridge br1, VLAN 100",
      bridge: "nodes are not visible to you: needs list on nodes",
      kernel: "the report of node-a is not visible to you: needs list on nodemacs",
      frames: "by which uplinks frames leave node-a is not visible to you: needs list on nodemacs",
    });
  });
});
