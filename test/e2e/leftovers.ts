/** What the product can leave on a node, to compare before its installation and after its removal. */
import { type Census, takeCensus } from "./census.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { SECOND_BRIDGE } from "./second-network.ts";

export interface Leftovers extends Census {
  /** Names in the CNI directories. */
  readonly executables: readonly string[];
  readonly runFiles: readonly string[];
}

export async function leftoversOn(
  cluster: NodeCluster,
  node: string,
  cniDirectories: readonly string[],
): Promise<Leftovers> {
  const census = await takeCensus(cluster, node);
  const lines = async (script: string): Promise<string[]> =>
    (await cluster.mustExec(node, ["sh", "-c", script])).split("\n").filter(Boolean);
  const names = await Promise.all(cniDirectories.map((directory) => namesIn(cluster, node, directory)));
  return {
    ...census,
    // The bridge is the administrator's from its first pod on, and its table is the kernel's of all bridges.
    links: census.links.filter((link) => !link.startsWith(`${SECOND_BRIDGE} `)),
    rules: census.rules.filter((rule) => !isBaseOfSpoofChecks(rule)),
    executables: names.flat().sort(),
    runFiles: await lines("find /run/cni -mindepth 1 2>/dev/null | sort"),
  };
}

/** Empty where there is no such directory. */
export async function namesIn(cluster: NodeCluster, node: string, directory: string): Promise<string[]> {
  const names = await cluster.mustExec(node, ["sh", "-c", `ls -A ${directory} 2>/dev/null || true`]);
  return names.split("\n").filter(Boolean);
}

const isBaseOfSpoofChecks = (rule: string): boolean => {
  const { table, chain } = JSON.parse(rule) as Readonly<Record<string, { family?: string; name?: string }>>;
  return [table, chain].some((entry) => entry?.family === "bridge" && ["nat", "PREROUTING"].includes(entry.name ?? ""));
};
