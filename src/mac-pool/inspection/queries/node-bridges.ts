import { isOfItsNode } from "../../../api/host-interfaces.ts";
import type { NodeBridge, NodeMACs } from "../../../api/node-macs.ts";
import type { Informer } from "../../../kube/informer/informer.ts";

/** Nodes where a bridge is set alike, as far as networks care. */
interface NodeGroup {
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
  readonly on: readonly (NodeBridge & { readonly node: string })[];
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

/** The bridges of all nodes by name, from the reports of the nodes. Made anew at the first question after a change. */
export class NodeBridges {
  readonly #nodeMacs: Pick<Informer<NodeMACs>, "list" | "on">;
  /** By the bridge's name. */
  readonly #texts = new WeakMap<NodeMACs, ReadonlyMap<string, BridgeTexts>>();
  readonly #fingerprints = new Map<string, string>();
  #follows = false;
  #known: Known | undefined;
  #before: Known["bridges"] = new Map();

  constructor(nodeMacs: Pick<Informer<NodeMACs>, "list" | "on">) {
    this.#nodeMacs = nodeMacs;
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
        on.push({ report, bridge, texts: texts.get(bridge.name) });
      }
    }
    const bridges = new Map<string, BridgeOnNodes>();
    for (const [name, on] of found) {
      const fingerprint = on.map(({ report, texts }) => `${nameOf(report)} ${texts?.whole}`).join("\n");
      const before = this.#before.get(name);
      const isSame = before !== undefined && this.#fingerprints.get(name) === fingerprint;
      bridges.set(name, isSame ? before : bridgeOnNodes(name, on, before));
      this.#fingerprints.set(name, fingerprint);
    }
    for (const name of this.#before.keys()) if (!bridges.has(name)) this.#fingerprints.delete(name);
    this.#before = bridges;
    return { nodes: reports.map(nameOf), bridges };
  }

  #textsOf(report: NodeMACs): ReadonlyMap<string, BridgeTexts> {
    const known = this.#texts.get(report);
    if (known !== undefined) return known;
    const texts = new Map((report.bridges ?? []).map((bridge) => [bridge.name, textsOfBridge(bridge)]));
    this.#texts.set(report, texts);
    return texts;
  }
}

interface Reported {
  readonly report: NodeMACs;
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
  const groups = new Map<string, { readonly key: string; readonly bridge: NodeBridge; readonly nodes: string[] }>();
  for (const { report, bridge, texts } of on) {
    const key = texts?.group ?? "";
    const group = groups.get(key) ?? { key, bridge, nodes: [] };
    groups.set(key, group);
    group.nodes.push(nameOf(report));
  }
  const sorted = [...groups.values()].sort((a, b) => b.nodes.length - a.nodes.length);
  return {
    name,
    on: on.map(({ report, bridge }) => ({ node: nameOf(report), ...bridge })),
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
