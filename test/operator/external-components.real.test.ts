import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NAD_GROUP } from "../../src/api/names.ts";
import type { ComponentStatus } from "../../src/api/network-addons-config.ts";
import { isNotFound } from "../../src/kube/client/api-error.ts";
import { defineResource, type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { COMPONENTS, renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const EXTERNAL = COMPONENTS.filter(({ standing }) => !standing)
  .map(({ name }) => name)
  .filter((name) => !["linuxBridge", "kubeMacPool"].includes(name));
const ALL = Object.fromEntries(EXTERNAL.map((name) => [name, {}]));
const NADS = defineResource(`${NAD_GROUP}/v1`, "NetworkAttachmentDefinition", "network-attachment-definitions", true);
const NAD = { name: "blue", namespace: "default" };
const isDefinition = ({ kind }: KubeObject): boolean => kind === "CustomResourceDefinition";

const objectsOf = (...names: readonly string[]): KubeObject[] =>
  renderEverything(
    DEFAULT_SETTINGS,
    COMPONENTS.filter(({ name }) => names.includes(name)),
  );

/** What cert-manager and OpenShift define, as far as their kinds matter here. */
function definition(group: string, version: string, kind: string, plural: string, scope: string): KubeObject {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { kind, plural }, versions: [{ name: version, served: true, storage: true, schema }] },
  };
}

/** One story: the tests follow each other on one cluster. */
describe("the components of other projects on a real API server, with the rights of the release", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    for (const name of ["node-a", "node-b"]) {
      await cluster.addNode(name);
      await report(name, "v1.36.3");
    }
    cluster.start(DEFAULT_SETTINGS);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function report(name: string, kubeletVersion: string): Promise<void> {
    const status = { nodeInfo: { containerRuntimeVersion: "containerd://2.2.2", kubeletVersion } };
    const patch = { type: "merge" as const, body: { status } };
    await cluster.admin.patch(RESOURCES.nodes, { name }, patch, { subresource: "status" });
  }

  async function row(name: string): Promise<ComponentStatus | undefined> {
    return (await cluster.config())?.status?.components?.find((candidate) => candidate.name === name);
  }

  /** The API server serves a new kind a moment after it was defined. */
  async function createOnceServed(resource: Resource, object: KubeObject): Promise<void> {
    await cluster.until(async () => {
      try {
        await cluster.admin.create(resource, object);
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    });
  }

  async function existing(objects: readonly KubeObject[]): Promise<KubeObject[]> {
    const found = [];
    for (const object of objects) if (await cluster.exists(object)) found.push(object);
    return found;
  }

  const names = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

  it.each(["multus", "ovs", "macvtap", "kubeSecondaryDNS"])("%s is deployed and removed again", async (name) => {
    expect(await cluster.applyConfig({ [name]: {} })).toMatchObject({ code: 0 });
    await cluster.rollOutUntilAvailable();
    const objects = objectsOf(name);
    expect(names(await existing(objects))).toEqual(names(objects));
    expect(await row(name)).toMatchObject({ phase: "Available" });

    expect(await cluster.applyConfig({})).toMatchObject({ code: 0 });
    await cluster.until(async () => (await existing(objects)).every(isDefinition));
    await cluster.rollOutUntilAvailable();
    expect(names(await existing(objects))).toEqual(names(objects.filter(isDefinition)));
  });

  it("lets the marker of ovs publish bridges of its own node, and nothing else", async () => {
    await cluster.applyConfig({ ovs: {} });
    await cluster.rollOutUntilAvailable();
    const publish = async (node: string, capacity: object): Promise<number> => {
      const headers = {
        "impersonate-user": `system:serviceaccount:${NAMESPACE}:ovs-cni-marker`,
        "impersonate-extra-authentication.kubernetes.io%2Fnode-name": "node-a",
        "content-type": "application/merge-patch+json",
      };
      const body = { status: { capacity } };
      return (await cluster.admin.raw("PATCH", `/api/v1/nodes/${node}/status`, { headers, body })).status;
    };
    // The API server takes up roles and policies one after the other, and refuses with 403 for want of either.
    await cluster.until(async () => (await publish("node-a", { "ovs-cni.network.kubevirt.io/br1": "1k" })) === 200);
    let bytes = 0;
    await cluster.until(async () => (await publish("node-a", { memory: `${++bytes}` })) === 403);
    expect(await publish("node-b", { "ovs-cni.network.kubevirt.io/br1": "1k" })).toBe(403);
    expect(await publish("node-a", { "ovs-cni.network.kubevirt.io/br1": null })).toBe(200);
  });

  it("keeps the users' NetworkAttachmentDefinitions when multus goes", async () => {
    await cluster.applyConfig({ multus: {} });
    await cluster.rollOutUntilAvailable();
    await createOnceServed(NADS, { metadata: NAD, spec: { config: "{}" } });
    await cluster.applyConfig({});
    await cluster.rollOutUntilAvailable();
    expect(await cluster.isThere(NADS, NAD)).toBe(true);
  });

  it("warns of what a change of the CNI directory costs while multus is on, before it is made", async () => {
    const WARNING = "replaces the pods of multus on every node";
    const dryRun = async (spec: object): Promise<string> => {
      const patch = ["patch", "nac", "cluster", "--type=merge", "--dry-run=server", "-p", JSON.stringify({ spec })];
      return (await cluster.kubectl(patch)).stderr;
    };
    await cluster.applyConfig({ multus: {}, linuxBridge: {} });
    const change = { linuxBridge: { cniBinDir: "/var/lib/cni/bin" } };
    await cluster.until(async () => (await dryRun(change)).includes(WARNING));
    expect(await dryRun({ linuxBridge: { nadLint: "Off" } })).not.toContain(WARNING);
    for (const same of ["", "/opt/cni/bin"]) {
      expect(await dryRun({ linuxBridge: { cniBinDir: same } })).not.toContain(WARNING);
    }
    expect(await dryRun({ ...change, multus: null })).not.toContain(WARNING);
    await cluster.applyConfig({});
    await cluster.rollOutUntilAvailable();
  });

  it("take directories and the runtime's socket from what the nodes are, say so, and follow when that changes", async () => {
    await cluster.applyConfig({ linuxBridge: {}, multus: {}, multusDynamicNetworks: {} });
    await cluster.rollOutUntilAvailable();
    const isMounted = async (name: string, path: string): Promise<boolean> => {
      const daemonSet = await cluster.find(RESOURCES.daemonSets, { name, namespace: NAMESPACE });
      return daemonSet?.spec?.template.spec?.volumes?.some(({ hostPath }) => hostPath?.path === path) === true;
    };
    const wide = async () => (await cluster.kubectl(["get", "nac", "-o", "wide", "--no-headers"])).stdout;
    expect(await isMounted("dynamic-networks-controller-ds", "/run/containerd/containerd.sock")).toBe(true);
    expect((await row("linuxBridge"))?.hostPaths).toEqual(["/opt/cni/bin"]);
    expect(await wide()).toContain("Kubernetes");

    for (const name of ["node-a", "node-b"]) await report(name, "v1.36.3+k3s1");
    await cluster.until(async () => (await wide()).includes("k3s"));
    await cluster.rollOutUntilAvailable();
    const [plugins, socket] = ["/var/lib/rancher/k3s/data/cni", "/run/k3s/containerd/containerd.sock"];
    expect(await isMounted("kube-cni-linux-bridge-plugin", plugins)).toBe(true);
    expect(await isMounted("multus", "/var/lib/rancher/k3s/agent/etc/cni/net.d")).toBe(true);
    expect(await isMounted("dynamic-networks-controller-ds", socket)).toBe(true);
    expect((await row("multusDynamicNetworks"))?.hostPaths).toEqual([socket]);

    await cluster.addNode("node-c");
    await report("node-c", "v1.36.3");
    await cluster.until(async () => {
      await cluster.rollOut();
      return (await row("linuxBridge"))?.message !== undefined && (await cluster.condition("Available")) === "True";
    });
    expect((await cluster.config())?.status?.distributions).toEqual(["k3s", "Kubernetes"]);
    expect(await row("linuxBridge")).toMatchObject({
      phase: "Available",
      message: `linuxBridge uses ${plugins}, as on most nodes (k3s). node-c (Kubernetes) needs /opt/cni/bin: its pods get no networks of linuxBridge`,
    });

    const label = async (name: string, pool: string | null): Promise<unknown> =>
      cluster.admin.patch(RESOURCES.nodes, { name }, { type: "merge", body: { metadata: { labels: { pool } } } });
    const usesDirectory = (directory: string) =>
      cluster.until(async () => (await row("linuxBridge"))?.hostPaths?.[0] === directory);
    await label("node-c", "vms");
    const workloads = { nodeSelector: { pool: "vms" } };
    await cluster.applyConfig({
      linuxBridge: {},
      multus: {},
      multusDynamicNetworks: {},
      placementConfiguration: { workloads },
    });
    await usesDirectory("/opt/cni/bin");
    expect((await cluster.config())?.status?.distributions).toEqual(["Kubernetes"]);
    await label("node-a", "vms");
    await label("node-c", null);
    await usesDirectory(plugins);
    await cluster.applyConfig({ linuxBridge: {}, multus: {}, multusDynamicNetworks: {} });
    await cluster.until(async () => (await cluster.config())?.status?.distributions?.length === 2);
    await cluster.admin.delete(RESOURCES.nodes, { name: "node-c" });
    for (const name of ["node-a", "node-b"]) await report(name, "v1.36.3");
    await cluster.until(async () => (await row("linuxBridge"))?.hostPaths?.[0] === "/opt/cni/bin");
    await cluster.rollOutUntilAvailable();
    await cluster.applyConfig({ multus: {} });
    await cluster.until(async () => (await existing(objectsOf("multusDynamicNetworks"))).length === 0);
  });

  it("names a missing product, deploys the others, and follows as soon as it is there", async () => {
    await cluster.applyConfig({ ovs: {}, kubevirtIpamController: {} });
    await cluster.until(async () => {
      await cluster.rollOut();
      return (await row("ovs"))?.phase === "Available";
    });
    expect(await row("kubevirtIpamController")).toEqual({
      name: "kubevirtIpamController",
      phase: "Degraded",
      reason: "MissingPrerequisite",
      message:
        "it needs cert-manager: install it " +
        "(the API server does not serve certificates.cert-manager.io and issuers.cert-manager.io)",
    });
    expect(await cluster.condition("Degraded")).toBe("True");

    for (const [kind, plural] of [
      ["Certificate", "certificates"],
      ["Issuer", "issuers"],
    ] as const) {
      const kinds = definition("cert-manager.io", "v1", kind, plural, "Namespaced");
      await cluster.admin.create(RESOURCES.crds, kinds as never);
    }
    await cluster.rollOutUntilAvailable();
    const objects = objectsOf("kubevirtIpamController");
    expect(names(await existing(objects))).toEqual(names(objects));
  });

  it("leaves the authority to who injects it into the webhook", async () => {
    const name = "kubevirt-ipam-controller-mutating-webhook-configuration";
    const caBundle = btoa("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
    const ops = [
      { op: "add" as const, path: "/webhooks/0/clientConfig/caBundle", value: caBundle },
      { op: "replace" as const, path: "/webhooks/0/failurePolicy", value: "Ignore" },
    ];
    await cluster.admin.patch(RESOURCES.mutatingWebhookConfigurations, { name }, { type: "json", ops });
    const webhook = async () => (await cluster.find(RESOURCES.mutatingWebhookConfigurations, { name }))?.webhooks?.[0];
    await cluster.until(async () => (await webhook())?.failurePolicy === "Fail");
    expect((await webhook())?.clientConfig.caBundle).toBe(caBundle);
  });

  it("rests although the API server drops what is empty", async () => {
    await cluster.applyConfig({ kubeSecondaryDNS: {} });
    await cluster.rollOutUntilAvailable();
    cluster.client.writes.length = 0;
    for (let round = 0; round < 10; round++) {
      const before = cluster.client.reads;
      const body = { metadata: { labels: { woken: String(round) } } };
      const ref = { name: "secondary-dns", namespace: NAMESPACE };
      await cluster.admin.patch(RESOURCES.deployments, ref, { type: "merge", body });
      await cluster.until(async () => cluster.client.reads >= before + 2);
    }
    expect(cluster.client.writes.filter((write) => write.includes("secondary-dns"))).toEqual([]);
    expect(await cluster.condition("Degraded")).toBe("False");
  });

  it("deploys all of them together, and leaves nothing but definitions behind", async () => {
    await cluster.applyConfig(ALL);
    await cluster.rollOutUntilAvailable();
    const objects = objectsOf(...EXTERNAL);
    expect(names(await existing(objects))).toEqual(names(objects));
    expect(await cluster.kubectl(["delete", "nac", "cluster"])).toMatchObject({ code: 0 });
    expect(names(await existing(objects))).toEqual(names(objects.filter(isDefinition)));
    expect(await cluster.isThere(NADS, NAD)).toBe(true);
  });

  it("on OpenShift accepts multus without deploying it, and refuses what the platform does not support", async () => {
    await cluster.stop();
    const network = definition("operator.openshift.io", "v1", "Network", "networks", "Cluster");
    await cluster.admin.create(RESOURCES.crds, network as never);
    const networks = defineResource("operator.openshift.io/v1", "Network", "networks", false);
    await createOnceServed(networks, { metadata: { name: "cluster" }, spec: {} });
    for (const plural of ["certificates", "issuers"]) {
      await cluster.admin.delete(RESOURCES.crds, { name: `${plural}.cert-manager.io` });
    }
    cluster.start(DEFAULT_SETTINGS);
    await cluster.applyConfig({ multus: {}, kubevirtIpamController: {} });
    await cluster.rollOutUntilAvailable();
    expect(await row("multus")).toMatchObject({ phase: "Available" });
    expect(await cluster.isThere(RESOURCES.daemonSets, { name: "multus", namespace: NAMESPACE })).toBe(false);
    expect(await row("kubevirtIpamController")).toMatchObject({ phase: "Available" });

    await cluster.applyConfig({ multus: {}, macvtap: {} });
    await cluster.until(async () => (await cluster.condition("Degraded")) === "True");
    const degraded = (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded");
    expect(degraded?.message).toContain("`macvtap` has been requested, but is not supported on OpenShift");
  });

  it("was never refused anything", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
