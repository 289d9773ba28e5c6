import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, startCluster } from "../cluster.ts";
import * as product from "../product.ts";
import { testPod } from "../test-pods.ts";
import { NAD_GROUP } from "./nad-crd.ts";
import { NETWORKS_ANNOTATION } from "./network-selection.ts";
import { NETWORK_STATUS_ANNOTATION } from "./network-status.ts";

const repository = join(import.meta.dirname, "..", "..", "..");
const architecture = process.arch === "x64" ? "amd64" : process.arch;

interface Link {
  readonly ifname: string;
  readonly address: string;
  readonly master?: string;
  readonly ifindex: number;
  readonly link_index?: number;
}

describe("multus' stand-in", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: "node-a", bridges: ["br1"] }] });
    const plugin = join(repository, "dist", "cni", architecture, "bridge");
    expect(await cluster.exec("node-a", ["cp", plugin, "/opt/cni/bin/cnv-bridge"])).toMatchObject({ code: 0 });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);
  const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);
  const nad = (name: string, config: object): object => ({
    apiVersion: `${NAD_GROUP}/v1`,
    kind: "NetworkAttachmentDefinition",
    metadata: { name, namespace: "default" },
    spec: { config: JSON.stringify(config) },
  });
  const bridge = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1", capabilities: { mac: true } };
  const ports = async (): Promise<Link[]> =>
    JSON.parse((await cluster.exec("node-a", ["ip", "-json", "link", "show", "master", "br1"])).stdout || "[]");

  it("attaches a pod with the MAC it asks for, reports it, and detaches it without the NAD", async () => {
    const mac = "02:5d:1c:00:00:a3";
    const networks = [
      { name: "blue", interface: "pod1b2c3d4e5f6", mac },
      { name: "blue", namespace: "default" },
    ];
    const annotations = { [NETWORKS_ANNOTATION]: JSON.stringify(networks) };
    await apply(nad("blue", bridge), testPod({ name: "attached", annotations }));
    await kubectl("wait", "--for=condition=Ready", "--timeout=20s", "pod/attached");

    const shown = await cluster.execInPod("default", "attached", ["ip", "-json", "link", "show"]);
    const links = JSON.parse(shown.stdout) as Link[];
    expect(links.map(({ ifname }) => ifname).sort()).toEqual(["eth0", "lo", "net2", "pod1b2c3d4e5f6"]);
    const link = links.find(({ ifname }) => ifname === "pod1b2c3d4e5f6");
    expect(link?.address).toBe(mac);
    expect((await ports()).map(({ ifindex }) => ifindex)).toContain(link?.link_index);

    const pod = JSON.parse(await kubectl("get", "pod", "attached", "-o", "json"));
    const status = JSON.parse(pod.metadata.annotations[NETWORK_STATUS_ANNOTATION]);
    expect(status).toMatchObject([
      { interface: "eth0", default: true, ips: [pod.status.podIP] },
      { name: "default/blue", interface: "pod1b2c3d4e5f6", mac },
      { name: "default/blue", interface: "net2" },
    ]);

    await kubectl("delete", `network-attachment-definitions.${NAD_GROUP}`, "blue");
    await kubectl("delete", "pod", "attached");
    expect(await ports()).toEqual([]);
  });

  it("leaves a pod waiting with an event that says why, and nothing behind, until its networks can be had", async () => {
    const networks = "early, late";
    await apply(nad("early", bridge), testPod({ name: "patient", annotations: { [NETWORKS_ANNOTATION]: networks } }));
    const events = () => kubectl("get", "events.events.k8s.io", "-o", "jsonpath={.items[*].note}");
    const absent = "cannot find a network-attachment-definition (late) in namespace (default)";
    await expect.poll(events).toContain(absent);
    const state = "jsonpath={.status.phase} {.status.containerStatuses[0].state.waiting.reason}";
    expect(await kubectl("get", "pod", "patient", "-o", state)).toBe("Pending ContainerCreating");
    await expect.poll(ports).toEqual([]);

    await apply(nad("late", { ...bridge, type: "no-such-plugin" }));
    await expect.poll(events).toContain('failed to find plugin "no-such-plugin" in path [/opt/cni/bin]');
    await apply(nad("late", { cniVersion: "0.4.0", plugins: [bridge] }));
    await kubectl("wait", "--for=condition=Ready", "--timeout=20s", "pod/patient");
    expect((await ports()).length).toBe(2);
    await kubectl("delete", "pod", "patient");
    expect(await ports()).toEqual([]);
  });
});
