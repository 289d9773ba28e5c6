import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { issueToken } from "../mac-pool/account.ts";
import { tokenKubeconfig } from "../mac-pool/token-kubeconfig.ts";
import { eventually } from "../support/eventually.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { NODE_STATUS, NODE_WRITES, type NodeWrite, WRITERS, type Writer } from "./support/node-writes.ts";

const NODES = ["node-a", "node-b"];
const NEW_NODE = "node-c";

/** Real tokens, on a real API server, with the rights and policies that the operator applied. */
describe("the admission guard of the right to patch nodes' status", () => {
  let cluster: InstalledOperator;
  const clients = new Map<Writer, KubeClient>();

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    for (const node of [...NODES, NEW_NODE]) await cluster.addNode(node);
    cluster.start({ ...DEFAULT_SETTINGS, componentImages: { OVS_CNI_IMAGE: "registry.example/ovs:1" } });
    await cluster.applyConfig({ linuxBridge: {}, ovs: {} });
    await cluster.rollOutUntilAvailable();
    for (const writer of Object.keys(WRITERS) as Writer[]) clients.set(writer, await clientOf(writer));
    for (const node of NODES) await restore(node);
    let bytes = 0;
    for (const [writer, { account }] of Object.entries(WRITERS)) {
      // A policy is enforced a moment after it was written.
      const body = () => ({ status: { capacity: { memory: `${++bytes}` } } });
      const strange = () => send({ writer: writer as Writer, node: "node-a", contentType: MERGE, body: body() });
      await eventually(`the policy of ${account}`, async () => (await strange()).status === 403);
    }
  });
  afterAll(async () => {
    for (const client of clients.values()) await client[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const MERGE = "application/merge-patch+json";

  /** A token as kubelet has one made: bound to a pod, which names the node. */
  async function clientOf(writer: Writer): Promise<KubeClient> {
    const { account, node } = WRITERS[writer];
    const ref = { namespace: NAMESPACE, name: account };
    const bound = node === undefined ? undefined : await podOf(account, node);
    const { url, authority } = cluster.controlPlane;
    const kubeconfig = tokenKubeconfig(url, authority.certificate, await issueToken(cluster.admin, ref, bound));
    return new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
  }

  async function podOf(account: string, node: string) {
    const name = `${account}-on-${node}`;
    const spec = { nodeName: node, serviceAccountName: account, containers: [{ name: "main", image: "any" }] };
    const pod = await cluster.admin.create(RESOURCES.pods, { metadata: { namespace: NAMESPACE, name }, spec });
    return { apiVersion: "v1", kind: "Pod", name, uid: pod.metadata.uid ?? "" };
  }

  async function restore(node: string): Promise<void> {
    const metadata = { labels: { "kubernetes.io/os": "linux" } };
    await cluster.admin.patch(RESOURCES.nodes, { name: node }, { type: "merge", body: { metadata } });
    const body = { status: NODE_STATUS };
    await cluster.admin.patch(RESOURCES.nodes, { name: node }, { type: "merge", body }, { subresource: "status" });
  }

  async function send({
    writer,
    node,
    contentType,
    body,
  }: Pick<NodeWrite, "writer" | "node" | "contentType" | "body">) {
    const query = contentType.includes("apply") ? { fieldManager: "test", force: "true" } : {};
    const headers = { "content-type": contentType };
    const path = `/api/v1/nodes/${node}/status`;
    const answer = await clients.get(writer)?.raw("PATCH", path, { body: JSON.stringify(body), headers, query });
    const { message = "" } = (answer?.body ?? {}) as { message?: string };
    return { status: answer?.status, message };
  }

  const stateOf = async (node: string) => {
    const { metadata, status } = await cluster.admin.get(RESOURCES.nodes, { name: node });
    const { resourceVersion: _, managedFields: __, ...rest } = metadata as Record<string, unknown>;
    return { metadata: rest, status };
  };

  const allowed = NODE_WRITES.filter(({ refusal }) => refusal === undefined);
  const refused = NODE_WRITES.filter(({ refusal }) => refusal !== undefined);

  it.each(refused)("refuses the $writer to $what ($node)", async (write) => {
    const before = await stateOf(write.node);
    const { status, message } = await send(write);
    expect(message).toContain(write.refusal);
    expect(status).toBe(403);
    expect(await stateOf(write.node)).toEqual(before);
  });

  it.each(allowed)("allows the $writer to $what ($node)", async (write) => {
    const { status, message } = await send(write);
    expect([status, message]).toEqual([200, ""]);
  });

  it("leaves the markers no other way to write nodes", async () => {
    const node = { metadata: { labels: { a: "b" } } };
    for (const client of [clients.get("marker"), clients.get("ovs marker")]) {
      const headers = { "content-type": MERGE };
      const path = "/api/v1/nodes/node-a";
      expect((await client?.raw("PATCH", path, { body: JSON.stringify(node), headers }))?.status).toBe(403);
      expect((await client?.raw("DELETE", path))?.status).toBe(403);
      expect((await client?.raw("PUT", `${path}/status`, { body: await stateOf("node-a") }))?.status).toBe(403);
      expect((await client?.raw("POST", "/api/v1/nodes", { body: { metadata: { name: "node-c" } } }))?.status).toBe(
        403,
      );
    }
  });
});
