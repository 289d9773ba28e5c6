import { randomInt } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../api/names.ts";
import { isForbidden, isNotFound } from "../kube/client/api-error.ts";
import { RESOURCES } from "../kube/client/resource.ts";
import type { ClusterState } from "./cluster-comparison.ts";
import type { CommandInput } from "./command.ts";
import { type CommandLine, type OptionSpec, textOption, UsageError } from "./command-line.ts";
import { CliError } from "./faults.ts";
import type { OpenCluster } from "./open-cluster.ts";

export const CONTEXTS_OPTION: OptionSpec = {
  name: "contexts",
  value: "A,B,...",
  summary: "compare the clusters of these contexts",
  offers: "contexts",
};

/** undefined where the option was not given. */
export function contextsOf(line: CommandLine): readonly string[] | undefined {
  const text = textOption(line, CONTEXTS_OPTION.name);
  if (text === undefined) return undefined;
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new UsageError(`--contexts ${JSON.stringify(text)} has an empty name: write a,b`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--contexts names ${twice} twice`);
  return names;
}

/**
 * Pools and claims of each context. A comparison that leaves a cluster out would be a false comfort, so one that can't be
 * read is an error, as are two contexts of one cluster.
 */
export async function statesOf(
  contexts: readonly string[],
  { open, line }: CommandInput,
): Promise<readonly ClusterState[]> {
  const clusters = await Promise.all(contexts.map((context) => named(context, () => open(context))));
  const identities = await Promise.all(
    clusters.map((cluster, index) =>
      named(contexts[index] ?? "", () => identityOf(cluster, line.options.requestTimeoutMs)),
    ),
  );
  for (const [index, identity] of identities.entries()) {
    const first = identities.indexOf(identity);
    if (first === index) continue;
    throw new UsageError(
      `contexts ${contexts[first]} and ${contexts[index]} are the same cluster: name each cluster once`,
    );
  }
  return Promise.all(
    clusters.map((cluster, index) => {
      const context = contexts[index] ?? "";
      return named(context, async () => {
        const [pools, claims] = await cluster.ask((backend) => Promise.all([backend.pools(), backend.claims()]));
        return { cluster: context, pools, claims };
      });
    }),
  );
}

/** The UID of kube-system, which stands for the cluster, or else its address. */
export async function identityOf(cluster: OpenCluster, timeoutMs: number): Promise<string> {
  try {
    const system = await cluster.client.get(RESOURCES.namespaces, { name: SYSTEM_NAMESPACE }, { timeoutMs });
    return system.metadata.uid ?? cluster.credentials.server;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return cluster.credentials.server;
    throw cluster.describe(error);
  }
}

async function named<T>(context: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw new CliError(`context ${context}: ${error.message}`, { cause: error });
  }
}

const RANDOM_STEPS = 2 ** 32;

/** From 0 to less than 1, for `suggestRange`: two clusters are not to be proposed the same range. */
export const randomFraction = (): number => randomInt(RANDOM_STEPS) / RANDOM_STEPS;
