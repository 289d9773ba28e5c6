/** Many pods that come and go. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import { inFlight } from "../support/in-flight.ts";
import { deletePod, runPod } from "./test-pod.ts";

/** Runs `count` pods on a node to their end, `parallel` at a time. */
export async function churn(client: KubeClient, node: string, count: number, parallel: number): Promise<void> {
  await inFlight(parallel, count, async (index) => {
    const name = `churn-${node}-${index}`;
    await runPod(client, { name, node });
    await deletePod(client, name);
  });
}

/** Pods come and go on the nodes, `parallel` at a time on each, until `task` has ended. Gives how many there were. */
export async function churnDuring(
  client: KubeClient,
  nodes: readonly string[],
  parallel: number,
  task: () => Promise<void>,
): Promise<number> {
  let next = 0;
  let ended = false;
  const lane = async (node: string): Promise<void> => {
    while (!ended) {
      const name = `during-${node}-${next++}`;
      await runPod(client, { name, node });
      await deletePod(client, name);
    }
  };
  const lanes = nodes.flatMap((node) => Array.from({ length: parallel }, () => lane(node)));
  const done = task().finally(() => {
    ended = true;
  });
  const results = await Promise.allSettled([done, ...lanes]);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return next;
}
