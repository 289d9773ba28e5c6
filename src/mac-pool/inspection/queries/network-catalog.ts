import { shortText } from "../../../kube/short-text.ts";
import { readNetworkConfig } from "../../../nad-lint/network-config.ts";
import { bridgeOfConfig, segmentOf, vlanRanges } from "../../../nad-lint/segment.ts";
import type { KnownNad, NetworkDomains } from "../../cluster/network-domains.ts";
import type { NetworkView } from "../rest/network-views.ts";
import { type BridgeConfig, type JudgedNetwork, judgeNetwork, type ReadNetwork, UNKNOWN } from "./network-verdict.ts";
import type { BridgeOnNodes } from "./node-bridges.ts";
import type { Turn } from "./turn.ts";

const MAX_TYPE_CHARS = 64;
/** Tenants write networks. Each object may be a range of all VLANs, or a plugin: with these, reading one takes 10 ms at most. */
const MAX_CONFIG_OBJECTS = 100;
const MAX_RANGES = 32;
/** After every name of a bridge. */
const LAST = "\uffff";

/** The bridge that a network leads to, and its VLANs there; empty where it leads to none. */
export type SegmentView = Pick<NetworkView, "bridge" | "vlan" | "trunk">;

/** A NetworkAttachmentDefinition, read once. */
export interface CatalogNetwork extends ReadNetwork {
  readonly namespace: string;
  /** By bridge, namespace and name; those without a bridge last. */
  readonly order: string;
  /** The first plugin; undefined where none can be read. */
  readonly type: string | undefined;
  readonly segment: SegmentView;
}

/** Networks that lead to one bridge and VLAN. */
interface Segment {
  readonly byName: Map<string, Set<CatalogNetwork>>;
  readonly byNamespace: Map<string, Set<CatalogNetwork>>;
}

interface Judgement {
  readonly groups: BridgeOnNodes["groups"] | undefined;
  readonly total: number;
  readonly byOther: Map<string | undefined, JudgedNetwork>;
}

/** The networks of the cluster, in order, as their configurations read. Follows the cache once somebody has asked. */
export class NetworkCatalog {
  readonly #nads: Pick<NetworkDomains, "on">;
  readonly #networks = new Map<string, CatalogNetwork>();
  readonly #byBridge = new Map<string, Set<CatalogNetwork>>();
  readonly #segments = new Map<string, Segment>();
  readonly #judged = new WeakMap<CatalogNetwork, Judgement>();
  /** Read at the next question. */
  readonly #unread = new Map<string, KnownNad>();
  #sorted: readonly CatalogNetwork[] | undefined;
  #follows = false;

  constructor(nads: Pick<NetworkDomains, "on">) {
    this.#nads = nads;
  }

  follow(): void {
    if (this.#follows) return;
    this.#follows = true;
    const changed = (nad: KnownNad): void => {
      this.#unread.set(keyOf(nad), nad);
    };
    this.#nads.on({
      add: changed,
      update: changed,
      delete: (nad) => {
        this.#unread.delete(keyOf(nad));
        this.#delete(keyOf(nad));
      },
    });
  }

  /** Reads what has changed since the last question. */
  async read(turn: Turn): Promise<void> {
    for (const [key, nad] of this.#unread) {
      this.#unread.delete(key);
      this.#set(nad);
      await turn.share();
    }
  }

  /** In order. */
  list(): readonly CatalogNetwork[] {
    this.#sorted ??= [...this.#networks.values()].sort((a, b) => (a.order < b.order ? -1 : 1));
    return this.#sorted;
  }

  get(namespace: string, name: string): CatalogNetwork | undefined {
    return this.#networks.get(`${namespace}/${name}`);
  }

  /** Those that lead to a bridge. */
  onBridge(bridge: string): Iterable<CatalogNetwork> {
    return this.#byBridge.get(bridge) ?? [];
  }

  /** Bridges that a network leads to. */
  bridges(): Iterable<string> {
    return this.#byBridge.keys();
  }

  /** `namesOthers`: whether the reader may see names of networks of other namespaces. */
  judge(network: CatalogNetwork, on: BridgeOnNodes | undefined, total: number, namesOthers: boolean): JudgedNetwork {
    let judged = this.#judged.get(network);
    if (judged === undefined || judged.groups !== on?.groups || judged.total !== total) {
      judged = { groups: on?.groups, total, byOther: new Map() };
      this.#judged.set(network, judged);
    }
    const other = this.#otherOnSegment(network, namesOthers);
    const known = judged.byOther.get(other);
    if (known !== undefined) return known;
    // The others change with time: what was said of them is not kept.
    if (judged.byOther.size > 1) judged.byOther.clear();
    const now = judgeOrNot(network, on, total, other);
    judged.byOther.set(other, now);
    return now;
  }

  /** One of the same name in another namespace is the same network there. */
  #otherOnSegment({ bridge, namespace, name }: CatalogNetwork, namesOthers: boolean): string | undefined {
    const segment = bridge && this.#segments.get(segmentOf(bridge) ?? "");
    if (segment === undefined) return undefined;
    for (const own of segment.byNamespace.get(namespace) ?? []) {
      if (own.name !== name) return `network ${namespace}/${own.name}`;
    }
    for (const [otherName, [other]] of segment.byName) {
      if (otherName === name || other === undefined) continue;
      return namesOthers ? `network ${other.namespace}/${other.name}` : "a network of another namespace";
    }
    return undefined;
  }

  #set(nad: KnownNad): void {
    this.#delete(keyOf(nad));
    const network = readNad(nad);
    this.#networks.set(keyOf(nad), network);
    this.#sorted = undefined;
    const { bridge, name, namespace } = network;
    if (bridge === undefined) return;
    addTo(this.#byBridge, bridge.bridge, network);
    const segment = segmentOf(bridge);
    if (segment === undefined) return;
    const known = this.#segments.get(segment) ?? { byName: new Map(), byNamespace: new Map() };
    this.#segments.set(segment, known);
    addTo(known.byName, name, network);
    addTo(known.byNamespace, namespace, network);
  }

  #delete(key: string): void {
    const network = this.#networks.get(key);
    if (network === undefined) return;
    this.#networks.delete(key);
    this.#sorted = undefined;
    const { bridge, name, namespace } = network;
    if (bridge === undefined) return;
    deleteFrom(this.#byBridge, bridge.bridge, network);
    const segment = segmentOf(bridge) ?? "";
    const known = this.#segments.get(segment);
    if (known === undefined) return;
    deleteFrom(known.byName, name, network);
    deleteFrom(known.byNamespace, namespace, network);
    if (known.byName.size === 0) this.#segments.delete(segment);
  }
}

const keyOf = ({ metadata: { namespace = "", name = "" } }: KnownNad): string => `${namespace}/${name}`;

function readNad({ metadata: { namespace = "", name = "" }, config: text, resource }: KnownNad): CatalogNetwork {
  const config =
    text !== undefined && text.split("{", MAX_CONFIG_OBJECTS + 2).length <= MAX_CONFIG_OBJECTS + 1 ? text : undefined;
  const bridge = config === undefined ? undefined : bridgeOrNot(config, name);
  const order = `${bridge?.bridge ?? LAST} ${namespace} ${name}`;
  const type = config === undefined ? undefined : typeOf(config, name);
  return { namespace, name, order, config, resource, bridge, type, segment: segmentView(bridge) };
}

function segmentView(bridge: BridgeConfig | undefined): SegmentView {
  if (bridge === undefined) return {};
  const { access = 0, trunk = [] } = bridge.vlans ?? {};
  return {
    bridge: bridge.bridge,
    ...(access === 0 ? {} : { vlan: access }),
    ...(trunk.length === 0 ? {} : { trunk: vlanRanges(trunk, MAX_RANGES) }),
  };
}

function typeOf(config: string, name: string): string | undefined {
  const read = readNetworkConfig(config, name);
  const [first] = read.form === "plugins" ? read.calls : [];
  return first && shortText(first.type, MAX_TYPE_CHARS);
}

/** Whatever one network is, the others are answered about. */
function bridgeOrNot(config: string, name: string): BridgeConfig | undefined {
  try {
    return bridgeOfConfig(config, name);
  } catch {
    return undefined;
  }
}

function judgeOrNot(...question: Parameters<typeof judgeNetwork>): JudgedNetwork {
  try {
    return judgeNetwork(...question);
  } catch {
    return UNKNOWN;
  }
}

function addTo<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

function deleteFrom<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
