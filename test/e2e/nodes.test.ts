/** The part of the tests on real nodes that `npm test` runs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type Census, takeCensus } from "./census.ts";
import { NodeCluster } from "./node-cluster.ts";
import { noRealNodes } from "./real-nodes.ts";
import { deletePod, runPod } from "./test-pod.ts";

const START_LIMIT_MS = 180_000;

describe.skipIf(await noRealNodes())("real nodes", () => {
  let cluster: NodeCluster;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await NodeCluster.start({
      nodes: [
        { name: "n1", podNetwork: "bridge" },
        { name: "n2", podNetwork: "ptp" },
      ],
    });
    client = await cluster.client();
  }, START_LIMIT_MS);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it("run a pod on the bridge plugin that reaches the other node and the API server's Service, and nothing of it stays", async () => {
    // The first pod makes the bridge, which stays.
    await runPod(client, { name: "first", node: "n1" });
    await deletePod(client, "first");
    const before = await takeCensus(cluster, "n1");

    const remote = await runPod(client, { name: "remote", node: "n2" });
    const pod = await runPod(client, { name: "local", node: "n1" });
    expect(pod.status?.podIP).toMatch(/^10\.77\.1\./);
    const during = await takeCensus(cluster, "n1");
    expect(during.links.filter((link) => link.endsWith("master cni0"))).toHaveLength(1);
    const inPod = (script: string) => cluster.kubectl(["exec", "local", "--", "sh", "-c", script]);
    expect(await inPod(`ping -c 1 -W 5 ${remote.status?.podIP}`)).toMatchObject({ code: 0 });
    // The API server asks for TLS; a Service that leads nowhere would refuse or time out.
    expect(await inPod("nc -w 5 10.96.0.1 443 </dev/null")).toMatchObject({ code: 0 });

    await deletePod(client, "local");
    await expect.poll(() => takeCensus(cluster, "n1")).toEqual(before satisfies Census);
  });
});
