/** The product on a test cluster: what its user types, and what the user waits for. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import { eventually } from "../support/eventually.ts";
import type { Cluster } from "./cluster.ts";
import { CONFIGS } from "./demo/demo-cluster.ts";
import { manifest } from "./test-pods.ts";

/** Throws what kubectl says when it fails. */
export const kubectl = async (cluster: Cluster, ...args: readonly string[]): Promise<string> =>
  (await cluster.mustKubectl(args)).trim();

/** `kubectl apply`. */
export const apply = (cluster: Cluster, ...objects: readonly object[]): Promise<string> =>
  cluster.mustKubectl(["apply", "-f", "-"], manifest(...objects));

export const install = (cluster: Cluster): Promise<string> =>
  kubectl(cluster, "apply", "--server-side", "-f", "deploy/release.yaml");

/** The NetworkAddonsConfig as it is now is Available. */
export async function available(client: KubeClient): Promise<void> {
  let seen: unknown;
  await eventually(
    "the NetworkAddonsConfig to be available",
    async () => {
      const { status, metadata } = await client.get(CONFIGS, { name: "cluster" });
      seen = status?.components;
      const isAvailable = status?.conditions?.some(({ type, status }) => type === "Available" && status === "True");
      return status?.observedGeneration === metadata.generation && isAvailable;
    },
    { limitMs: 120_000, state: () => JSON.stringify(seen) },
  );
}
