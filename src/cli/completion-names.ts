import { MAC_POOLS } from "../api/kinds.ts";
import { kubeconfigNames } from "../kube/client/credentials.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";
import { type Offer, type Options, parseCommandLine, UsageError } from "./command-line.ts";
import { COMMANDS } from "./command-table.ts";
import { OpenCluster } from "./open-cluster.ts";

/** Who presses a key waits no longer for a cluster. */
const TIMEOUT_MS = 3_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Names for completion. None where they can't be read: a shell has no place for an error. */
export async function namesFor(offer: Offer, before: readonly string[], env: Environment): Promise<readonly string[]> {
  const options = optionsIn(before);
  try {
    if (offer === "namespaces") return await namesInCluster(RESOURCES.namespaces, options, env);
    if (offer === "pools") return await namesInCluster(MAC_POOLS, options, env);
    return (await kubeconfigNames(env, options.kubeconfig))[offer];
  } catch {
    return [];
  }
}

async function namesInCluster(
  resource: Resource<KubeObject>,
  options: Options,
  env: Environment,
): Promise<readonly string[]> {
  const { context } = options;
  await using cluster = await OpenCluster.open({ env, options, context, onObjectsOnly: () => {} });
  const { items } = await cluster.client.list(resource, { managedFields: false, timeoutMs: TIMEOUT_MS });
  return items.flatMap(({ metadata }) => metadata.name ?? []);
}

/** Of a line that is not complete: those that can be read. */
function optionsIn(before: readonly string[]): Options {
  try {
    return parseCommandLine(before, COMMANDS).options;
  } catch (error) {
    if (error instanceof UsageError) return parseCommandLine([]).options;
    throw error;
  }
}
