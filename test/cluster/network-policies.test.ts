import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE, IMAGE_NODE } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, MAC_POOL_INSPECTION_PORT, MAC_POOL_SELECTOR } from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { networkAddonsConfig } from "./demo/objects.ts";
import type { DeniedConnection } from "./network-policy/enforcer.ts";
import * as product from "./product.ts";
import { hasNft } from "./requirements.ts";
import { testPod } from "./test-pods.ts";

const POLICY = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" };
/** What is not allowed by others is denied. */
const denyAll = {
  ...POLICY,
  metadata: { name: "default-deny-all", namespace: DEFAULT_NAMESPACE },
  spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
};

/** Asks a replica of the pool, from a pod of its own, what all of them have refused. */
const ASK = `
  const token = require("fs").readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/token", "utf8");
  const options = { headers: { authorization: "Bearer " + token }, rejectUnauthorized: false, agent: false };
  require("https").get("https://" + process.argv[1] + "/api/v1/denials", options, (answer) => answer.pipe(process.stdout));`;

const CONNECT = `
  const socket = require("net").connect({ host: process.argv[1], port: Number(process.argv[2]) });
  socket.once("connect", () => process.exit(0));
  socket.once("error", () => process.exit(1));
  setTimeout(() => process.exit(2), 2_000);`;

/** One story: the tests follow each other on one cluster. */
describe.skipIf(!hasNft())("NetworkPolicies that the nodes enforce", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: "node-a" }, { name: "node-b" }] });
    client = await cluster.client();
  }, 300_000);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);

  const addressOf = async (name: string, namespace = "default"): Promise<string> =>
    (await client.get(RESOURCES.pods, { name, namespace })).status?.podIP ?? "";

  async function connects(from: string, to: string, port: number): Promise<boolean> {
    const { code } = await cluster.execInPod("default", from, [IMAGE_NODE, "-e", CONNECT, to, String(port)]);
    return code === 0;
  }

  async function managers(): Promise<Pod[]> {
    const labelSelector = Object.entries(MAC_POOL_SELECTOR)
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
    return [...(await client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE, labelSelector })).items];
  }

  /** Connections from and to its pods. */
  async function deniedToProduct(): Promise<readonly DeniedConnection[]> {
    const isIts = (name: string): boolean => name.startsWith(`${DEFAULT_NAMESPACE}/`);
    return (await cluster.deniedConnections()).filter(({ from, to }) => isIts(from) || isIts(to));
  }

  async function unready(): Promise<(string | undefined)[]> {
    const { items } = await client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE });
    const isReady = ({ status }: Pod): boolean => status?.containerStatuses?.every(({ ready }) => ready) ?? false;
    return items.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata.name);
  }

  it("let through what they allow, and record what they refuse", async () => {
    const serve = "for (const port of [8001, 8002]) require('net').createServer((s) => s.end()).listen(port)";
    const container = { image: DEFAULT_IMAGE, args: ["-e", serve] };
    const guest = { image: DEFAULT_IMAGE, args: ["-e", "setInterval(() => {}, 1e9)"] };
    await apply(
      testPod({ name: "server", node: "node-a", labels: { app: "server" }, container }),
      testPod({ name: "friend", node: "node-b", labels: { app: "friend" }, container: guest }),
      testPod({ name: "stranger", node: "node-a", container: guest }),
      {
        ...POLICY,
        metadata: { name: "friends", namespace: "default" },
        spec: {
          podSelector: { matchLabels: { app: "server" } },
          ingress: [{ from: [{ podSelector: { matchLabels: { app: "friend" } } }], ports: [{ port: 8001 }] }],
        },
      },
    );
    await cluster.kubectl(["wait", "--for=condition=Ready", "--timeout=20s", "pod", "--all"]);
    const server = await addressOf("server");
    await expect.poll(() => connects("stranger", server, 8001)).toBe(false);
    await expect.poll(() => connects("friend", server, 8001)).toBe(true);
    expect(await connects("friend", server, 8002)).toBe(false);
    const denied = await cluster.deniedConnections();
    expect(denied).toContainEqual({ from: "default/stranger", to: "default/server", port: "tcp 8001" });
    expect(denied).toContainEqual({ from: "default/friend", to: "default/server", port: "tcp 8002" });
    expect(denied).not.toContainEqual({ from: "default/friend", to: "default/server", port: "tcp 8001" });
  });

  it("let the product work in a namespace that denies everything else", async () => {
    await product.install(cluster);
    await apply(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }));
    await product.available(client);
    await apply(denyAll);
    // Whatever starts now opens every connection anew.
    await cluster.kubectl(["delete", "pods", "--all", "-n", DEFAULT_NAMESPACE]);
    await expect
      .poll(async () => ({ unready: await unready(), denied: await deniedToProduct() }), { timeout: 60_000 })
      .toEqual({ unready: [], denied: [] });
    const replicas = await managers();
    expect(replicas).toHaveLength(2);
    for (const { metadata, status } of replicas) {
      const address = `${status?.podIP}:${MAC_POOL_INSPECTION_PORT}`;
      const asked = [IMAGE_NODE, "-e", ASK, address];
      const answers = async () =>
        JSON.parse((await cluster.execInPod(DEFAULT_NAMESPACE, metadata.name ?? "", asked)).stdout);
      await expect.poll(answers, { timeout: 60_000 }).toEqual({ items: [], total: 0 });
    }
    expect(await deniedToProduct()).toEqual([]);
  });
});
