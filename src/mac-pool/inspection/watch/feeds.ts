import type { Clock } from "../../../kube/clock.ts";
import type { Catalog, ClaimChange, ClaimState } from "../queries/catalog.ts";
import type { ClaimFilter } from "../queries/claim-filter.ts";
import type { ClaimQueries } from "../queries/claims.ts";
import { collisionViews } from "../queries/collisions.ts";
import type { DenialQueries } from "../queries/denials.ts";
import { MAX_WATCHED, type NetworkFilter, type NetworkQueries } from "../queries/networks.ts";
import { poolViews } from "../queries/pools.ts";
import type { Scope } from "../queries/scope.ts";
import type { ListView, WatchEventView } from "../rest/envelopes.ts";
import type { BridgeView, CollisionView, DenialView, NetworkView, PoolView } from "../rest/views.ts";
import { Feed, type Sink } from "./feed.ts";
import { type KeyOf, SnapshotFeed } from "./snapshot-feed.ts";

export interface FeedsOptions {
  readonly catalog: Catalog;
  readonly claims: ClaimQueries;
  readonly denials: DenialQueries;
  readonly networks: NetworkQueries;
  readonly boot: string;
  readonly clock: Clock;
}

/** How a watch begins. */
export interface WatchStart {
  /** ID of the last event that the viewer knows. */
  readonly lastId: string | undefined;
  readonly sendInitialEvents?: boolean | undefined;
}

type Snapshots = Pick<SnapshotFeed<unknown>, "watch" | "bookmark" | "viewers">;

/** What can be watched. */
export class Feeds {
  readonly #options: FeedsOptions;
  readonly #after: (ms: number, call: () => void) => void;
  readonly #claims: Feed<ClaimChange>;
  /** Of short lists, by what they list and for whom, while somebody watches. */
  readonly #snapshots = new Map<string, Snapshots>();
  #made = 0;

  constructor(options: FeedsOptions) {
    const { catalog, boot, clock } = options;
    this.#options = options;
    this.#after = (ms, call) => clock.after(ms, call);
    const partsOf = ({ now, old }: ClaimChange): number => 1 + ownerCount(now) + ownerCount(old);
    this.#claims = new Feed({ boot, revision: () => catalog.revision, after: this.#after, partsOf });
    catalog.onChange((change) => this.#claims.add(change));
  }

  /** Shows each viewer that the connection lives. */
  bookmark(): void {
    this.#claims.bookmark();
    for (const feed of this.#snapshots.values()) feed.bookmark();
  }

  claims(filter: ClaimFilter, scope: Scope, { lastId, sendInitialEvents }: WatchStart, sink: Sink): () => void {
    const { claims } = this.#options;
    const { mac, owner, search, namespace, phase, origin, pool, network, outOfRange } = filter;
    const wanted = { mac, owner, search, namespace, phase, origin, pool, network, outOfRange };
    const test = claims.test(wanted, scope);
    const eventOf = ({ type, now, old }: ClaimChange): WatchEventView<unknown> | undefined => {
      const was = old !== undefined && test(old.claim, old.phase);
      const is = type !== "DELETED" && test(now.claim, now.phase);
      if (!was && !is) return undefined;
      const { claim, phase } = is || old === undefined ? now : old;
      return { type: was ? (is ? "MODIFIED" : "DELETED") : "ADDED", object: claims.view(claim, scope, phase) };
    };
    const items = sendInitialEvents === true ? () => claims.pieces(wanted, scope) : undefined;
    const subscription = { key: JSON.stringify([scope.namespace, wanted]), scope: scope.namespace, eventOf, items };
    return this.#claims.watch(lastId, subscription, sink);
  }

  pools(start: WatchStart, sink: Sink): () => void {
    const list = () => poolViews(this.#options.catalog);
    return this.#watch<PoolView>("pools", list, ({ name }) => name, start, sink);
  }

  collisions(namespace: string | undefined, scope: Scope, start: WatchStart, sink: Sink): () => void {
    const key = JSON.stringify(["collisions", namespace, scope.namespace]);
    const list = () => collisionViews(this.#options.catalog, scope, namespace);
    return this.#watch<CollisionView>(key, list, ({ mac }) => mac, start, sink);
  }

  denials(namespace: string | undefined, scope: Scope, start: WatchStart, sink: Sink): () => void {
    const key = JSON.stringify(["denials", namespace, scope.namespace]);
    const list = () => this.#options.denials.merged({ namespace }, scope);
    return this.#watch<DenialView>(key, list, ({ id }) => id, start, sink);
  }

  /** Of the first networks. */
  networks({ namespace, bridge, search }: NetworkFilter, scope: Scope, start: WatchStart, sink: Sink): () => void {
    const filter = { namespace, bridge, search };
    const key = JSON.stringify(["networks", filter, scope.namespace]);
    const list = () => this.#options.networks.networks({ ...filter, limit: MAX_WATCHED }, scope);
    return this.#watch<NetworkView>(key, list, (network) => `${network.namespace}/${network.name}`, start, sink);
  }

  bridges({ namespace, search }: NetworkFilter, scope: Scope, start: WatchStart, sink: Sink): () => void {
    const key = JSON.stringify(["bridges", namespace, search, scope.namespace]);
    const list = () => this.#options.networks.bridges({ namespace, search, limit: MAX_WATCHED }, scope);
    return this.#watch<BridgeView>(key, list, ({ name }) => name, start, sink);
  }

  #watch<T>(
    key: string,
    list: () => ListView<T> | Promise<ListView<T>>,
    keyOf: KeyOf<T>,
    { lastId, sendInitialEvents = false }: WatchStart,
    sink: Sink,
  ): () => void {
    const feed = this.#snapshots.get(key) ?? this.#feedOf(list, keyOf);
    this.#snapshots.set(key, feed);
    const stop = feed.watch(lastId, sendInitialEvents, sink);
    return () => {
      stop();
      // A new feed may have taken its place before the connection of a dropped viewer closes.
      if (feed.viewers === 0 && this.#snapshots.get(key) === feed) this.#snapshots.delete(key);
    };
  }

  #feedOf<T>(list: () => ListView<T> | Promise<ListView<T>>, keyOf: KeyOf<T>): Snapshots {
    this.#made += 1;
    return new SnapshotFeed<T>({ boot: `${this.#options.boot}.${this.#made}`, after: this.#after }, list, keyOf);
  }
}

const ownerCount = (state: ClaimState | undefined): number => state?.claim.status?.owners.length ?? 0;
