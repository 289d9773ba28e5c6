import { nadOf } from "../../../api/claim-network.ts";
import { closestName } from "../../../api/closest-name.ts";
import type { ClaimOwner } from "../../../api/mac-claim.ts";
import type { Clock } from "../../../kube/clock.ts";
import { textAt } from "../../../kube/json-path.ts";
import type { Caches } from "../../cluster/caches.ts";
import { BY_INSTANCE } from "../../cluster/informers.ts";
import { NetworkCounts } from "../../cluster/network-counts.ts";
import { isFinished } from "../../objects/pod-networks.ts";
import type { FindingView } from "../rest/consistency-views.ts";
import { readToken, writeToken } from "../rest/continue-token.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { BridgeView, NetworkView } from "../rest/network-views.ts";
import { notFound, Problem } from "../rest/problem.ts";
import { bridgeView } from "./bridge-view.ts";
import { type CatalogNetwork, NetworkCatalog, type SegmentView } from "./network-catalog.ts";
import { bridgeProblems, NETWORKS_UNKNOWN, NetworkProblems } from "./network-problems.ts";
import { type IsPlaced, usersOf } from "./network-users.ts";
import { networkView, runningByNode } from "./network-view.ts";
import { NodeBridges } from "./node-bridges.ts";
import { type Scope, sees } from "./scope.ts";
import { Turn } from "./turn.ts";

/** The first lists of NetworkAttachmentDefinitions and nodes. */
const SYNC_MS = 5_000;
/** Tenants choose how many networks a watch sends. */
export const MAX_WATCHED = 1_000;

export interface NetworkFilter {
  readonly namespace?: string | undefined;
  readonly bridge?: string | undefined;
  readonly search?: string | undefined;
}

interface PageStart {
  readonly limit: number;
  readonly continue?: string | undefined;
}

type NetworkQuestion = NetworkFilter & PageStart;

/**
 * Networks, the bridges that they lead to, and who uses them. Nothing of it is watched or counted before the first question.
 * A reader of one namespace sees its networks, their bridges, and counts of their own VMs.
 */
export class NetworkQueries {
  readonly #caches: Caches;
  readonly #clock: Clock;
  readonly #catalog: NetworkCatalog;
  readonly #counts: NetworkCounts;
  readonly #bridges: NodeBridges;

  constructor(caches: Caches, clock: Clock) {
    this.#caches = caches;
    this.#clock = clock;
    this.#catalog = new NetworkCatalog(caches.networks);
    this.#counts = new NetworkCounts(caches);
    this.#bridges = new NodeBridges(caches.nodeMacs, caches.nodes);
  }

  /** Throws a Problem while the networks are not known. */
  async networks(question: NetworkQuestion, scope: Scope): Promise<ListView<NetworkView>> {
    const turn = await this.#whenKnown();
    const found = this.#catalog.list().filter(this.#matching(question, scope));
    const page = this.#page(found, ({ order }) => order, question, scope);
    const told = this.#nodesTold(scope);
    const items: NetworkView[] = [];
    for (const network of page.items) {
      items.push(this.#view(network, told, scope, false));
      await turn.share();
    }
    return { ...page, items };
  }

  async network(namespace: string, name: string, scope: Scope): Promise<NetworkView> {
    await this.#whenKnown();
    const network = this.#catalog.get(namespace, name);
    if (network !== undefined) {
      const users = usersOf(this.#counts.usersOf(`${namespace}/${name}`), this.#isPlaced, scope);
      return { ...this.#view(network, this.#nodesTold(scope), scope, true), ...users };
    }
    const names = this.#catalog.list().flatMap((one) => (one.namespace === namespace ? [one.name] : []));
    throw notFound(`NetworkAttachmentDefinition ${namespace}/${name}`, closestName(name, names));
  }

  async bridges(question: Omit<NetworkQuestion, "bridge">, scope: Scope): Promise<ListView<BridgeView>> {
    const turn = await this.#whenKnown();
    const { namespace = scope.namespace, search = "" } = question;
    const isMeant = (network: CatalogNetwork): boolean => namespace === undefined || network.namespace === namespace;
    const wanted = search.toLowerCase();
    const found = this.#bridgeNames(namespace).filter((name) => name.toLowerCase().includes(wanted));
    const page = this.#page(found, (name) => name, question, scope);
    const items: BridgeView[] = [];
    for (const name of page.items) {
      items.push(this.#bridgeView(name, isMeant, namespace, scope));
      await turn.share();
    }
    return { ...page, items };
  }

  /** What is wrong, as the answers about networks and bridges have it. */
  async findings(scope: Scope): Promise<readonly FindingView[]> {
    const turn = await this.#whenKnown().catch(unlessUnknown);
    if (turn === undefined) return [NETWORKS_UNKNOWN];
    const own = this.#catalog.list().filter((network) => sees(scope, network));
    const problems = new NetworkProblems();
    const told = this.#nodesTold(scope);
    for (const network of own) {
      problems.add(this.#view(network, told, scope, false));
      await turn.share();
    }
    const found: FindingView[] = [];
    const isMeant = (network: CatalogNetwork): boolean => sees(scope, network);
    for (const name of this.#bridgeNames(scope.namespace)) {
      found.push(
        ...bridgeProblems(this.#bridgeView(name, isMeant, scope.namespace, scope), this.#bridges.all.get(name)),
      );
      await turn.share();
    }
    return [...found, ...problems.findings()];
  }

  /** Those of the nodes, and those that a network leads to; in one namespace those of its networks. */
  #bridgeNames(namespace: string | undefined): readonly string[] {
    const names =
      namespace === undefined
        ? [...this.#bridges.all.keys(), ...this.#catalog.bridges()]
        : this.#catalog.list().flatMap((one) => (one.namespace === namespace ? (one.bridge?.bridge ?? []) : []));
    return [...new Set(names)].sort();
  }

  /** All nodes; to the reader of one namespace those with a bridge that one of its networks leads to. */
  #nodesTold({ namespace }: Scope): readonly string[] {
    const { nodes, all } = this.#bridges;
    if (namespace === undefined) return nodes;
    const own = this.#catalog.list().filter((network) => network.namespace === namespace);
    const bridges = new Set(own.flatMap(({ bridge }) => bridge?.bridge ?? []));
    const told = new Set([...bridges].flatMap((name) => (all.get(name)?.on ?? []).map(({ node }) => node)));
    return nodes.filter((node) => told.has(node));
  }

  #view(network: CatalogNetwork, told: readonly string[], scope: Scope, whole: boolean): NetworkView {
    const { nodes, statesOf } = this.#bridges;
    const on = network.bridge && this.#bridges.all.get(network.bridge.bridge);
    const judged = this.#catalog.judge(network, on, nodes.length, scope.namespace === undefined);
    const users = this.#counts.of(`${network.namespace}/${network.name}`);
    return networkView({ network, judged, on, nodes, statesOf, told, users, isPlaced: this.#isPlaced }, scope, whole);
  }

  readonly #isPlaced: IsPlaced = (uid) =>
    this.#caches.pods
      .byIndex(BY_INSTANCE, uid)
      .some((launcher) => !isFinished(launcher) && textAt(launcher, "spec", "nodeName") !== "");

  #bridgeView(
    name: string,
    isMeant: (network: CatalogNetwork) => boolean,
    namespace: string | undefined,
    scope: Scope,
  ): BridgeView {
    const all = [...this.#catalog.onBridge(name)];
    const networks = all.filter(isMeant);
    const running = new Map<string, number>();
    // The VMs of one namespace may be on networks of others.
    for (const network of scope.namespace === undefined ? networks : all) {
      const users = this.#counts.of(`${network.namespace}/${network.name}`);
      for (const [node, count] of runningByNode(users, scope)) running.set(node, (running.get(node) ?? 0) + count);
    }
    return bridgeView({
      name,
      on: this.#bridges.all.get(name),
      total: this.#bridges.nodes.length,
      networks: networks.length,
      needsFiltering: networks.some(({ bridge }) => bridge?.vlans?.enableFiltering === false),
      seesAll: namespace === undefined,
      running,
    });
  }

  #matching({ namespace, bridge, search = "" }: NetworkFilter, scope: Scope): (network: CatalogNetwork) => boolean {
    const wanted = search.toLowerCase();
    return (network) => {
      const own = network.bridge?.bridge;
      if (!sees(scope, network) || (namespace !== undefined && network.namespace !== namespace)) return false;
      if (bridge !== undefined && own !== bridge) return false;
      return `${network.namespace}/${network.name} ${own ?? ""}`.toLowerCase().includes(wanted);
    };
  }

  /** `found`: in the order of their keys. */
  #page<T>(
    found: readonly T[],
    keyOf: (item: T) => string,
    { limit, continue: token, namespace, search, ...more }: NetworkQuestion,
    scope: Scope,
  ): ListView<T> {
    const nowMs = this.#clock.now();
    const bound = { namespace, search, bridge: more.bridge, seenBy: scope.namespace };
    const text = (key: unknown): string | undefined => (typeof key === "string" ? key : undefined);
    const after = token === undefined ? "" : readToken(token, bound, nowMs, text);
    const rest = after === "" ? found : found.filter((item) => keyOf(item) > after);
    const items = rest.slice(0, limit);
    const last = items.at(-1);
    const isLast = last === undefined || rest.length <= limit;
    return { items, ...(isLast ? {} : { continue: writeToken(keyOf(last), bound, nowMs) }), total: found.length };
  }

  /** Reads what is known of the networks, for `segmentOf`. Waits for no first list: its networks change the next answer. */
  async readKnown(): Promise<void> {
    this.#caches.networks.need();
    this.#catalog.follow();
    if (this.#caches.networks.hasSynced) await this.#catalog.read(new Turn(this.#clock));
  }

  /** The bridge and the VLANs of an owner's network. */
  segmentOf({ network, namespace }: Pick<ClaimOwner, "network" | "namespace">, scope: Scope): SegmentView {
    const nad = nadOf(network, namespace);
    return nad !== undefined && sees(scope, nad) ? (this.#catalog.get(nad.namespace, nad.name)?.segment ?? {}) : {};
  }

  async #whenKnown(): Promise<Turn> {
    const watched = [this.#caches.networks, this.#caches.nodes];
    for (const each of watched) each.need();
    this.#catalog.follow();
    this.#counts.follow();
    if (watched.some(({ hasSynced }) => !hasSynced)) {
      const signal = AbortSignal.timeout(SYNC_MS);
      await Promise.all(watched.map((each) => each.whenSynced(signal))).catch(notYet);
    }
    const turn = new Turn(this.#clock);
    await this.#catalog.read(turn);
    await this.#counts.read(turn);
    await this.#bridges.read(turn);
    return turn;
  }
}

function unlessUnknown(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error;
}

function notYet(): never {
  const detail = "This replica does not know the NetworkAttachmentDefinitions and nodes yet: try again.";
  throw new Problem("MACPOOL_NOT_READY", detail);
}
