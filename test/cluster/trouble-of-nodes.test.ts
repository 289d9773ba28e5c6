import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../src/api/names.ts";
import { BRIDGE_MARKER_HEALTH_PORT } from "../../src/api/node-ports.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { CONFIGS } from "./demo/demo-cluster.ts";
import { networkAddonsConfig } from "./demo/objects.ts";
import * as product from "./product.ts";
import { testPod } from "./test-pods.ts";

const MINUTE = { timeout: 60_000 };

/** One story: the tests follow each other on one cluster. */
describe("what happens where a node is in trouble", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: "node-a" }, { name: "node-b" }] });
    client = await cluster.client();
    await product.install(cluster);
  }, 300_000);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);

  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);

  async function nodeOfReadyOperator(): Promise<string | undefined> {
    const options = { namespace: DEFAULT_NAMESPACE, labelSelector: `name=${OPERATOR_NAME}` };
    const { items } = await client.list(RESOURCES.pods, options);
    const living = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return living.find(({ status }) => status?.containerStatuses?.every(({ ready }) => ready))?.spec?.nodeName;
  }

  it("names a port that somebody else has on a node while the rollout goes on", async () => {
    const serve = `require("net").createServer().listen(${BRIDGE_MARKER_HEALTH_PORT})`;
    const container = { image: DEFAULT_IMAGE, args: ["-e", serve] };
    await apply(testPod({ name: "squatter", node: "node-a", container, spec: { hostNetwork: true } }));
    await kubectl("wait", "--for=condition=Ready", "--timeout=20s", "pod/squatter");
    await apply(networkAddonsConfig({ linuxBridge: {} }));
    const progressing = async () =>
      (await client.get(CONFIGS, { name: "cluster" })).status?.conditions?.find(({ type }) => type === "Progressing");
    await expect
      .poll(async () => (await progressing())?.message, MINUTE)
      .toMatch(
        new RegExp(
          `"${DEFAULT_NAMESPACE}/bridge-marker" is not available .*: Port ${BRIDGE_MARKER_HEALTH_PORT} is in use`,
        ),
      );
    expect((await progressing())?.status).toBe("True");
    await kubectl("delete", "pod", "squatter", "--grace-period=1");
    await expect.poll(async () => (await progressing())?.status, MINUTE).toBe("False");
  });

  it("replaces the operator within a minute where its node is lost", async () => {
    await expect.poll(nodeOfReadyOperator, MINUTE).toBeDefined();
    const lost = (await nodeOfReadyOperator()) ?? "";
    const other = lost === "node-a" ? "node-b" : "node-a";
    await cluster.powerOff(lost);
    await expect.poll(nodeOfReadyOperator, MINUTE).toBe(other);
  });
});
