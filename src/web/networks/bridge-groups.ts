import type { BridgeView, ListView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";

/** Of more nodes the answers tell the exceptions only. */
const MAX_COLUMNS = 16;

/** A bridge of the nodes and the networks that lead to it. */
export interface BridgeGroup {
  /** Undefined for networks that lead to no bridge that is known. */
  readonly name: string | undefined;
  /** Undefined where it is not among the bridges that were read. */
  readonly bridge: BridgeView | undefined;
  readonly networks: readonly NetworkView[];
}

/**
 * In the order of the answers: by name, networks without a bridge last. Bridges without a network that was found are those
 * that `search` names, and of these only such as come before the networks that were not read yet.
 */
export function bridgeGroups(
  networks: ListView<NetworkView>,
  bridges: ListView<BridgeView>,
  search: string,
): readonly BridgeGroup[] {
  const found = new Map<string | undefined, NetworkView[]>();
  for (const network of networks.items) {
    const own = found.get(network.bridge);
    if (own === undefined) found.set(network.bridge, [network]);
    else own.push(network);
  }
  const last = networks.continue === undefined ? undefined : networks.items.at(-1)?.bridge;
  const wanted = search.toLowerCase();
  const byName = new Map(bridges.items.map((bridge) => [bridge.name, bridge]));
  const empty = [...byName.keys()].filter(
    (name) => !found.has(name) && name.toLowerCase().includes(wanted) && (last === undefined || name < last),
  );
  const named = [...found.keys()].flatMap((name) => name ?? []);
  const names: (string | undefined)[] = [...named, ...empty].sort();
  if (found.has(undefined)) names.push(undefined);
  return names.map((name) => ({
    name,
    bridge: name === undefined ? undefined : byName.get(name),
    networks: found.get(name) ?? [],
  }));
}

/** A column each, ascending; undefined where there are too many nodes. */
export function nodeColumns(groups: readonly BridgeGroup[]): readonly string[] | undefined {
  const isLarge = groups.some(
    ({ bridge, networks }) =>
      (bridge?.totalNodes ?? 0) > MAX_COLUMNS || networks.some(({ nodes }) => nodes.total > MAX_COLUMNS),
  );
  if (isLarge) return undefined;
  const names = new Set<string>();
  for (const { bridge, networks } of groups) {
    for (const { node } of bridge?.on ?? []) names.add(node);
    for (const { cells } of networks) for (const { node } of cells) names.add(node);
  }
  return names.size > MAX_COLUMNS ? undefined : [...names].sort();
}
