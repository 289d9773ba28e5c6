import type { Clock } from "../../kube/clock.ts";
import type { Catalog, ClaimChange } from "./catalog.ts";
import type { ClaimFilter } from "./claim-filter.ts";
import type { ClaimQueries } from "./claims.ts";
import type { CollisionQueries } from "./collisions.ts";
import type { DenialQueries } from "./denials.ts";
import type { WatchEventView } from "./envelopes.ts";
import { Feed, type Sink } from "./feed.ts";
import type { PoolQueries } from "./pools.ts";
import type { Scope } from "./scope.ts";
import { type KeyOf, SnapshotFeed } from "./snapshot-feed.ts";
import type { CollisionView, DenialView, PoolView } from "./views.ts";

export interface FeedsOptions {
  readonly catalog: Catalog;
  readonly claims: ClaimQueries;
  readonly pools: PoolQueries;
  readonly collisions: CollisionQueries;
  readonly denials: DenialQueries;
  readonly boot: string;
  readonly clock: Clock;
}

/** What can be watched. */
export class Feeds {
  readonly #options: FeedsOptions;
  readonly #after: (ms: number, call: () => void) => void;
  readonly #claims: Feed<ClaimChange>;
  /** Of short lists, by what they list and for whom, while somebody watches. */
  readonly #snapshots = new Map<string, Pick<SnapshotFeed<unknown>, "watch" | "bookmark" | "viewers">>();

  constructor(options: FeedsOptions) {
    const { catalog, boot, clock } = options;
    this.#options = options;
    this.#after = (ms, call) => clock.after(ms, call);
    this.#claims = new Feed({ boot, revision: () => catalog.revision, after: this.#after });
    catalog.onChange((change) => this.#claims.add(change));
  }

  /** Shows each viewer that the connection lives. */
  bookmark(): void {
    this.#claims.bookmark();
    for (const feed of this.#snapshots.values()) feed.bookmark();
  }

  claims(filter: ClaimFilter, scope: Scope, lastId: string | undefined, sink: Sink): () => void {
    const { mac, owner, search, namespace, phase, origin, pool, outOfRange } = filter;
    const key = JSON.stringify([scope.namespace, mac, owner, search, namespace, phase, origin, pool, outOfRange]);
    const test = this.#options.claims.test(filter, scope);
    const eventOf = ({ type, claim, old }: ClaimChange): WatchEventView<unknown> | undefined => {
      const was = old !== undefined && test(old);
      const is = type !== "DELETED" && test(claim);
      if (!was && !is) return undefined;
      const view = this.#options.claims.view(is || old === undefined ? claim : old, scope);
      return { type: was ? (is ? "MODIFIED" : "DELETED") : "ADDED", object: view };
    };
    return this.#claims.watch(lastId, { key, eventOf }, sink);
  }

  pools(lastId: string | undefined, sink: Sink): () => void {
    const { pools } = this.#options;
    return this.#watch<PoolView>(
      "pools",
      () => pools.list().items,
      ({ name }) => name,
      lastId,
      sink,
    );
  }

  collisions(namespace: string | undefined, scope: Scope, lastId: string | undefined, sink: Sink): () => void {
    const { collisions } = this.#options;
    const key = JSON.stringify(["collisions", namespace, scope.namespace]);
    return this.#watch<CollisionView>(
      key,
      () => collisions.list(scope, namespace).items,
      ({ mac }) => mac,
      lastId,
      sink,
    );
  }

  denials(namespace: string | undefined, scope: Scope, lastId: string | undefined, sink: Sink): () => void {
    const { denials } = this.#options;
    const key = JSON.stringify(["denials", namespace, scope.namespace]);
    const list = async () => (await denials.merged({ namespace }, scope)).items;
    return this.#watch<DenialView>(key, list, ({ id }) => id, lastId, sink);
  }

  #watch<T>(
    key: string,
    list: () => readonly T[] | Promise<readonly T[]>,
    keyOf: KeyOf<T>,
    lastId: string | undefined,
    sink: Sink,
  ): () => void {
    const { boot } = this.#options;
    const feed = this.#snapshots.get(key) ?? new SnapshotFeed<T>({ boot, after: this.#after }, list, keyOf);
    this.#snapshots.set(key, feed);
    const stop = feed.watch(lastId, sink);
    return () => {
      stop();
      if (feed.viewers === 0) this.#snapshots.delete(key);
    };
  }
}
