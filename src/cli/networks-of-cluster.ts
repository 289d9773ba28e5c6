import { MAC_POOLS } from "../api/kinds.ts";
import { parseMac } from "../api/mac.ts";
import type { MacPoolSpec } from "../api/mac-pool.ts";
import { ApiError, ConnectionError } from "../kube/client/api-error.ts";
import type { KubeObject, Resource } from "../kube/client/resource.ts";
import type { ClusterFacts } from "../nad-lint/lint.ts";
import type { CommandInput } from "./command.ts";
import { CliError, withoutKubeconfig } from "./faults.ts";
import type { Network } from "./networks.ts";
import type { OpenCluster } from "./open-cluster.ts";
import { FactReader } from "./way/fact-reader.ts";

/** What of a cluster a network is compared with before it is applied, as far as the user may read it. */

/** All networks; those of the namespace where the user may not list all. None where nothing can be known. */
export async function networksOfCluster(
  { open, line }: CommandInput,
  namespace: string | undefined,
): Promise<readonly Network[]> {
  const cluster = await open().catch(withoutKubeconfig);
  if (cluster === undefined) return [];
  const reader = new FactReader(cluster.client, line.options.requestTimeoutMs);
  const all = await reader.networks();
  const read = "unknown" in all && namespace !== undefined ? await reader.networks(namespace) : all;
  return ("value" in read ? read.value : undefined) ?? [];
}

const POOLS = MAC_POOLS as Resource as Resource<KubeObject & { readonly spec?: Partial<MacPoolSpec> }>;

/** Which MACPool has an address, for the lint; nothing where the user may not list pools, or no network asks. */
export async function poolsOfCluster(
  open: () => Promise<OpenCluster>,
  timeoutMs: number,
  networks: readonly Network[],
): Promise<Pick<ClusterFacts, "poolWith">> {
  if (!networks.some(({ config = "" }) => config.includes("allowedMacs"))) return {};
  const cluster = await open().catch(withoutKubeconfig);
  const read = await cluster?.client.list(POOLS, { managedFields: false, timeoutMs }).catch(nobodyKnows);
  const spans = read?.items.flatMap(({ metadata: { name = "" }, spec }) =>
    (spec?.ranges ?? []).flatMap(({ start, end }) => {
      const [first, last] = [parseMac(start), parseMac(end)];
      return first === undefined || last === undefined ? [] : [{ name, first, last }];
    }),
  );
  return spans === undefined
    ? {}
    : { poolWith: (first, last) => spans.find((one) => one.first <= last && first <= one.last)?.name };
}

function nobodyKnows(error: unknown): undefined {
  if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
}

/** A warning for each namespace that is known not to exist. */
export async function missingNamespaces({ open }: CommandInput, names: Iterable<string>): Promise<string[]> {
  const cluster = await open().catch(withoutKubeconfig);
  if (cluster === undefined) return [];
  const warnings = [...new Set(names)].map(async (name) =>
    (await exists(cluster, name))
      ? []
      : [`warning: there is no namespace ${name}: create it before you apply the network.`],
  );
  return (await Promise.all(warnings)).flat();
}

async function exists(cluster: OpenCluster, name: string): Promise<boolean> {
  try {
    await cluster.expectNamespace(name);
    return true;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return false;
  }
}
