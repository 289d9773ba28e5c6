import { claimName, formatMac, type Mac } from "../../api/mac.ts";
import { ApiError, ConnectionError } from "../../kube/client/api-error.ts";
import { MAX_RETRY_AFTER_MS, MAX_THROTTLED_RETRIES } from "../../kube/client/retry.ts";
import { EventStreamDecoder, type ServerSentEvent } from "../../mac-pool/inspection/rest/event-stream.ts";
import type {
  BridgeView,
  CheckView,
  ClaimView,
  CollisionView,
  ConsistencyView,
  DenialView,
  ListView,
  MapView,
  NamespaceView,
  NetworkView,
  OwnerHistoryView,
  PoolView,
  WatchEventView,
} from "../../mac-pool/inspection/rest/views.ts";
import { CliError } from "../faults.ts";
import { KnownClaims } from "./known-claims.ts";
import { plain } from "./plain-text.ts";
import {
  type ListedClaim,
  type MapSection,
  noPool,
  type OwnerRef,
  type PoolBackend,
  poolWith,
  type UnclaimedAddress,
} from "./pool-backend.ts";
import { isProblem, NOT_FOUND, refusalOf, unavailableOr } from "./rest-refusal.ts";

/** Items of a page; the server allows 5,000. */
const PAGE = 2_000;
/** Of networks and bridges: the most. */
const NETWORKS_PAGE = 500;
/** Pause before a watch that was cut is resumed. */
const WATCH_RETRY_MS = 1_000;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** How REST is reached. Throws `ConnectionError` where nobody answers. */
export interface RestTransport {
  /** Any answer, with its body parsed where it is JSON. `path` begins with `/api/v1/`. */
  get(path: string, query: Query): Promise<{ readonly status: number; readonly body: unknown }>;
  /** A body while it arrives. Throws `ApiError` for any other answer than 200. */
  stream(
    path: string,
    query: Query,
    options: { readonly signal: AbortSignal; readonly lastEventId: string | undefined },
  ): Promise<AsyncIterable<Uint8Array>>;
  sleep(durationMs: number, signal: AbortSignal): Promise<void>;
}

/** The pool's REST interface, with the user's own rights. */
export class RestBackend implements PoolBackend {
  readonly knowsRefusals = true;
  readonly #transport: RestTransport;

  constructor(transport: RestTransport) {
    this.#transport = transport;
  }

  pools(): Promise<readonly PoolView[]> {
    return this.#all<PoolView>("pools");
  }

  claims(namespace?: string, search?: string): Promise<readonly ClaimView[]> {
    return this.#all<ClaimView>("claims", { namespace, search, limit: PAGE });
  }

  async claim(mac: Mac, namespace?: string): Promise<ClaimView | undefined> {
    return this.#find<ClaimView>(`claims/${claimName(mac).slice("mac-".length)}`, { namespace });
  }

  async unclaimed(mac: Mac, namespace: string): Promise<UnclaimedAddress> {
    const [{ inRange, holders, elsewhere, hostAddress: hosts, ...beside }, pools] = await Promise.all([
      this.check(mac, namespace),
      this.#readablePools(),
    ]);
    const { listedBy = [], sayingPods = [], unmanagedInstances = [] } = beside;
    const pool = poolWith(pools, mac)?.name;
    return { inRange, pool, holders, elsewhere, listedBy, sayingPods, unmanagedInstances, hosts, knowsHosts: true };
  }

  async map(pool: string, { cells, from, to }: MapSection): Promise<MapView> {
    const map = await this.#find<MapView>(`pools/${encodeURIComponent(pool)}/map`, {
      cells,
      from: from === undefined ? undefined : formatMac(from),
      to: to === undefined ? undefined : formatMac(to),
    });
    if (map !== undefined) return map;
    const names = (await this.#readablePools()).map(({ name }) => name);
    throw new CliError(noPool(pool, names));
  }

  owner({ kind, namespace, name }: OwnerRef): Promise<OwnerHistoryView | undefined> {
    return this.#find<OwnerHistoryView>(`owners/${[kind, namespace, name].map(encodeURIComponent).join("/")}`);
  }

  collisions(namespace?: string): Promise<ListView<CollisionView>> {
    return this.#list<CollisionView>("collisions", { namespace });
  }

  denials(namespace?: string): Promise<ListView<DenialView>> {
    return this.#list<DenialView>("denials", { namespace });
  }

  consistency(namespace?: string): Promise<ConsistencyView> {
    return this.#get<ConsistencyView>("consistency", { namespace });
  }

  namespaces(namespace?: string): Promise<readonly NamespaceView[]> {
    return this.#all<NamespaceView>("namespaces", { namespace });
  }

  async networks(namespace?: string, search?: string): Promise<readonly NetworkView[]> {
    return (await this.#list<NetworkView>("networks", { namespace, search, limit: NETWORKS_PAGE })).items;
  }

  network(namespace: string, name: string): Promise<NetworkView> {
    return this.#get<NetworkView>(`networks/${[namespace, name].map(encodeURIComponent).join("/")}`);
  }

  async bridges(namespace?: string): Promise<readonly BridgeView[]> {
    return (await this.#list<BridgeView>("bridges", { namespace, limit: NETWORKS_PAGE })).items;
  }

  check(mac: Mac, namespace: string): Promise<CheckView> {
    return this.#get<CheckView>("check", { mac: formatMac(mac), namespace });
  }

  async *watch(namespace: string | undefined, signal: AbortSignal): AsyncGenerator<WatchEventView<ListedClaim>> {
    // A watch may be silent for long. This question fails in time where nobody answers.
    await this.#get<ListView<ClaimView>>("claims", { namespace, limit: 1 });
    const known = new KnownClaims();
    // Claims of the list that a new watch begins with. A watch that resumes another one has no list.
    let listed: ListedClaim[] | undefined;
    let lastEventId: string | undefined;
    for (let waitMs = 0, refusals = 0; !signal.aborted; ) {
      if (waitMs > 0) await this.#transport.sleep(waitMs, signal).catch(() => {});
      waitMs = WATCH_RETRY_MS;
      try {
        const body = await this.#transport.stream(
          "/api/v1/claims",
          { watch: true, sendInitialEvents: true, namespace },
          { signal, lastEventId },
        );
        refusals = 0;
        for await (const { id, data } of eventsOf(body)) {
          const event = plain(JSON.parse(data) as WatchEventView<ListedClaim>);
          if (event.type === "RESET") listed = [];
          else if (event.type === "BOOKMARK") {
            if (listed !== undefined) yield* known.replace(listed);
            listed = undefined;
          } else if (listed === undefined) yield* known.apply(event);
          else if (event.object !== undefined) listed.push(event.object);
          lastEventId = id || lastEventId;
        }
      } catch (error) {
        if (signal.aborted) return;
        // Only a watch that has sent something is resumed.
        if (error instanceof ConnectionError && lastEventId !== undefined) continue;
        const busyMs = refusals < MAX_THROTTLED_RETRIES ? waitOf(error) : undefined;
        if (busyMs === undefined) throw unavailableOr(error);
        waitMs = busyMs;
        refusals += 1;
      }
    }
  }

  /** Empty where the user may not read them. */
  async #readablePools(): Promise<readonly PoolView[]> {
    try {
      return await this.pools();
    } catch (error) {
      if (error instanceof CliError) return [];
      throw error;
    }
  }

  async #all<T>(path: string, query: Query = {}): Promise<readonly T[]> {
    return (await this.#list<T>(path, query)).items;
  }

  /** All pages as one. */
  async #list<T>(path: string, query: Query): Promise<ListView<T>> {
    const items: T[] = [];
    let page: ListView<T> | undefined;
    do {
      page = await this.#get<ListView<T>>(path, { ...query, continue: page?.continue });
      items.push(...page.items);
    } while (page.continue !== undefined);
    return { items, total: page.total, ...(page.partial === undefined ? {} : { partial: page.partial }) };
  }

  async #get<T>(path: string, query: Query = {}): Promise<T> {
    const answer = await this.#answer(path, query);
    if (answer.status === 200) return plain(answer.body as T);
    throw refusalOf(answer);
  }

  /** Undefined for what does not exist. */
  async #find<T>(path: string, query: Query = {}): Promise<T | undefined> {
    const answer = await this.#answer(path, query);
    if (answer.status === 404 && isProblem(answer.body) && answer.body.code === NOT_FOUND) return undefined;
    if (answer.status === 200) return plain(answer.body as T);
    throw refusalOf(answer);
  }

  async #answer(path: string, query: Query): Promise<{ readonly status: number; readonly body: unknown }> {
    try {
      return await this.#transport.get(`/api/v1/${path}`, query);
    } catch (error) {
      throw unavailableOr(error);
    }
  }
}

async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new EventStreamDecoder();
  for await (const chunk of body) yield* decoder.push(chunk);
}

/** The wait that a busy server asks for. Undefined for other errors, and for a wait that is too long. */
function waitOf(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) return undefined;
  const { retryAfterMs = WATCH_RETRY_MS } = error;
  return retryAfterMs > MAX_RETRY_AFTER_MS ? undefined : retryAfterMs * (1 + Math.random() / 4);
}
