import { isOfItsNode } from "../../../api/host-interfaces.ts";
import type { NodeWithBridge } from "../../../api/landing.ts";
import type { NodeBridge, NodeMACs } from "../../../api/node-macs.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import type { KnownNode, KnownNodes } from "../../cluster/known-nodes.ts";

/** How VMs can land on a node that has a bridge. */
type Landing = Omit<NodeWithBridge, "node">;

/** Nodes where a bridge is set alike and takes VMs alike, as far as networks care. */
export interface NodeGroup extends Landing {
  /** What networks care about, as text. */
  readonly key: string;
  readonly bridge: NodeBridge;
  /** Ascending. */
  readonly nodes: readonly string[];
}

/** One bridge on all nodes that publish it. The same object until something about it changes. */
export interface BridgeOnNodes {
  readonly name: string;
  /** Ascending. */
  readonly on: readonly (NodeBridge & NodeWithBridge)[];
  /** The largest first. The same list while nothing changes that networks care about, as the carrier of an uplink. */
  readonly groups: readonly NodeGroup[];
}

/** What a report says of one bridge, as text. */
interface BridgeTexts {
  readonly whole: string;
  /** What networks care about. */
  readonly group: string;
}

interface Known {
  /** Ascending. */
  readonly nodes: readonly string[];
  readonly bridges: ReadonlyMap<string, BridgeOnNodes>;
}

/**
 * The bridges of all nodes by name, from the reports of the nodes, and whether VMs can land there, from the nodes. Made anew
 * at the first question after a change.
 */
export class NodeBridges {
  readonly #nodeMacs: Pick<Informer<NodeMACs>, "list" | "on">;
  readonly #nodes: Pick<KnownNodes, "get" | "on">;
  /** By the bridge's name. */
  readonly #texts = new WeakMap<NodeMACs, ReadonlyMap<string, BridgeTexts>>();
  readonly #fingerprints = new Map<string, string>();
  #follows = false;
  #known: Known | undefined;
  #before: Known["bridges"] = new Map();

  constructor(nodeMacs: Pick<Informer<NodeMACs>, "list" | "on">, nodes: Pick<KnownNodes, "get" | "on">) {
    this.#nodeMacs = nodeMacs;
    this.#nodes = nodes;
  }

  /** What takes long of the next answer. */
  async read(turn: { share(): Promise<void> }): Promise<void> {
    for (const report of this.#nodeMacs.list()) {
      if (this.#texts.has(report)) continue;
      this.#textsOf(report);
      await turn.share();
    }
  }

  /** Names of the nodes that report, ascending. What no node owns does not count. */
  get nodes(): readonly string[] {
    return this.#now().nodes;
  }

  get all(): ReadonlyMap<string, BridgeOnNodes> {
    return this.#now().bridges;
  }

  /** Why a node takes no VM, whatever it has; none of one that nobody knows. */
  readonly statesOf = (node: string): readonly string[] => this.#nodes.get(node)?.states ?? [];

  #now(): Known {
    if (!this.#follows) {
      this.#follows = true;
      const changed = (): void => {
        this.#known = undefined;
      };
      const updated = (report: NodeMACs, old: NodeMACs): void => {
        if (isOfItsNode(report) !== isOfItsNode(old)) changed();
        else if (JSON.stringify(report.bridges) !== JSON.stringify(old.bridges)) changed();
      };
      this.#nodeMacs.on({ add: changed, update: updated, delete: changed });
      const nodeUpdated = (node: KnownNode, old: KnownNode): void => {
        if (JSON.stringify([node.states, node.bridges]) !== JSON.stringify([old.states, old.bridges])) changed();
      };
      this.#nodes.on({ add: changed, update: nodeUpdated, delete: changed });
    }
    this.#known ??= this.#read();
    return this.#known;
  }

  #read(): Known {
    const reports = this.#nodeMacs
      .list()
      .filter(isOfItsNode)
      .toSorted((a, b) => compare(nameOf(a), nameOf(b)));
    const found = new Map<string, Reported[]>();
    for (const report of reports) {
      const texts = this.#textsOf(report);
      for (const bridge of report.bridges ?? []) {
        const on = found.get(bridge.name) ?? [];
        found.set(bridge.name, on);
        on.push({ node: nameOf(report), bridge, texts: texts.get(bridge.name), ...this.#landing(report, bridge) });
      }
    }
    const bridges = new Map<string, BridgeOnNodes>();
    for (const [name, on] of found) {
      const fingerprint = on
        .map(({ node, texts, states, publishes }) => `${node} ${states} ${publishes} ${texts?.whole}`)
        .join("\n");
      const before = this.#before.get(name);
      const isSame = before !== undefined && this.#fingerprints.get(name) === fingerprint;
      bridges.set(name, isSame ? before : bridgeOnNodes(name, on, before));
      this.#fingerprints.set(name, fingerprint);
    }
    for (const name of this.#before.keys()) if (!bridges.has(name)) this.#fingerprints.delete(name);
    this.#before = bridges;
    return { nodes: reports.map(nameOf), bridges };
  }

  /** A node that is not known yet counts as one that takes VMs. */
  #landing(report: NodeMACs, bridge: NodeBridge): Landing {
    const node = this.#nodes.get(nameOf(report));
    return { states: node?.states ?? [], publishes: node?.bridges.includes(bridge.name) ?? true };
  }

  #textsOf(report: NodeMACs): ReadonlyMap<string, BridgeTexts> {
    const known = this.#texts.get(report);
    if (known !== undefined) return known;
    const texts = new Map((report.bridges ?? []).map((bridge) => [bridge.name, textsOfBridge(bridge)]));
    this.#texts.set(report, texts);
    return texts;
  }
}

interface Reported extends NodeWithBridge {
  readonly bridge: NodeBridge;
  readonly texts: BridgeTexts | undefined;
}

function textsOfBridge(bridge: NodeBridge): BridgeTexts {
  const { mtu, vlanFiltering, canFilterVlans, uplinks } = bridge;
  const group = JSON.stringify([
    mtu,
    vlanFiltering,
    canFilterVlans,
    uplinks?.map(({ name, vlans }) => [name, vlans ?? null]),
  ]);
  return { whole: JSON.stringify(bridge), group };
}

function bridgeOnNodes(name: string, on: readonly Reported[], before: BridgeOnNodes | undefined): BridgeOnNodes {
  const groups = new Map<string, NodeGroup & { readonly nodes: string[] }>();
  for (const { node, bridge, texts, states, publishes } of on) {
    const key = `${states} ${publishes} ${texts?.group ?? ""}`;
    const group = groups.get(key) ?? { key, bridge, states, publishes, nodes: [] };
    groups.set(key, group);
    group.nodes.push(node);
  }
  const sorted = [...groups.values()].sort((a, b) => b.nodes.length - a.nodes.length);
  return {
    name,
    on: on.map(({ node, bridge, states, publishes }) => ({ ...bridge, node, states, publishes })),
    groups: before !== undefined && areEqual(before.groups, sorted) ? before.groups : sorted,
  };
}

function areEqual(some: readonly NodeGroup[], others: readonly NodeGroup[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ key, nodes }, index) => {
      const other = others[index];
      return key === other?.key && nodes.join() === other.nodes.join();
    })
  );
}

const nameOf = ({ metadata }: NodeMACs): string => metadata.name ?? "";

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
