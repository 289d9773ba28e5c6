/**
 * The questions that inspection answers. Everything is read from the caches of one replica;
 * only refusals, who leads and who is there are asked elsewhere. What is wrong with a question is thrown as a Problem.
 */

import { closestName } from "../../../api/closest-name.ts";
import { formatMac, type Mac, macFromNumber, parseMac } from "../../../api/mac.ts";
import { PRODUCT_VERSION } from "../../../api/names.ts";
import type { Clock } from "../../../kube/clock.ts";
import { statusOf } from "../../claims/claim.ts";
import type { Caches } from "../../cluster/caches.ts";
import type { Pool } from "../../pools/pool.ts";
import type { LazyLists } from "../rest/answer-body.ts";
import { readToken, writeToken } from "../rest/continue-token.ts";
import type { ListView } from "../rest/envelopes.ts";
import { badRequest, notFound } from "../rest/problem.ts";
import type { Replicas } from "../rest/replicas.ts";
import type * as views from "../rest/views.ts";
import { feedId } from "../watch/feed.ts";
import { Feeds } from "../watch/feeds.ts";
import { Catalog } from "./catalog.ts";
import { checkAddress } from "./check.ts";
import type { ClaimFilter } from "./claim-filter.ts";
import { ClaimQueries } from "./claims.ts";
import { collidingMacs, collisionViews, runningBeside } from "./collisions.ts";
import { ConsistencyQuery } from "./consistency.ts";
import { type DenialFilter, type DenialLog, DenialQueries, LOCAL_DENIALS } from "./denials.ts";
import { mapOf } from "./map.ts";
import { namespaceNames, namespaceViews } from "./namespaces.ts";
import { NetworkQueries } from "./networks.ts";
import { History, type OwnerRef, ownerHistory, ownerNames } from "./owners.ts";
import { poolView, poolViews } from "./pools.ts";
import { hostAddressIn, type Scope } from "./scope.ts";

/** Namespaces of an address in which the reader's rights are asked for, one after the other. */
const MAX_NAMESPACES = 5;
/** Addresses that a mistyped one is compared with. */
const MAX_NEIGHBOURS = 500;

export interface InspectorOptions {
  readonly caches: Caches;
  readonly clock: Clock;
  readonly denials: DenialLog;
  readonly replicas: Pick<Replicas, "ask">;
  /** Who holds the lease; null where nobody does. Throws where that is not known. */
  readonly leader: () => Promise<views.ConsistencyView["leader"]>;
  /** Name of this replica. */
  readonly self: string;
  /** Tells this process from others. */
  readonly boot: string;
}

export interface ClaimQuestion extends ClaimFilter {
  readonly limit: number;
  readonly continue?: string | undefined;
  readonly watch?: boolean | undefined;
  readonly since?: string | undefined;
  readonly sendInitialEvents?: boolean | undefined;
}

export class Inspector {
  readonly feeds: Feeds;
  readonly networks: NetworkQueries;
  readonly #options: InspectorOptions;
  readonly #catalog: Catalog;
  readonly #history: History;
  readonly #claims: ClaimQueries;
  readonly #denials: DenialQueries;
  readonly #consistency: ConsistencyQuery;

  constructor(options: InspectorOptions) {
    const { caches, clock, denials, replicas, boot } = options;
    const catalog = new Catalog(caches, clock);
    this.#options = options;
    this.#catalog = catalog;
    this.networks = new NetworkQueries(caches, clock);
    this.#claims = new ClaimQueries(catalog, this.networks);
    this.#denials = new DenialQueries(denials, replicas);
    this.#history = new History(catalog, clock);
    this.#consistency = new ConsistencyQuery(catalog, this.networks, clock);
    this.feeds = new Feeds({
      claims: this.#claims,
      denials: this.#denials,
      networks: this.networks,
      catalog,
      boot,
      clock,
    });
  }

  /** The caches are filled: what changes from now on has happened now. */
  begin(): void {
    this.#catalog.rates.begin();
    this.#history.begin();
  }

  /** The revision that an answer is made from. Two answers of one revision and scope are the same. */
  tagFor({ namespace }: Scope): string {
    return `"${feedId(this.#options.boot, this.#catalog.revision, namespace)}"`;
  }

  pools(): ListView<views.PoolView> {
    return poolViews(this.#catalog);
  }

  pool(name: string, mayList: boolean): views.PoolView {
    return poolView(this.#pool(name, mayList), this.#catalog);
  }

  map(name: string, query: { cells: number; from?: string | undefined; to?: string | undefined }, mayList: boolean) {
    const pool = this.#pool(name, mayList);
    const [from, to] = [query.from, query.to].map((text) => (text === undefined ? undefined : parseMac(text)));
    if (from !== undefined && to !== undefined && to < from) {
      throw badRequest("to", "to must not be below from: exchange them.");
    }
    const { claims, caches } = this.#catalog;
    const map = mapOf(pool, { claims, hosts: caches.index.hosts }, collidingMacs(this.#catalog), query.cells, from, to);
    if (map === undefined) {
      const parameter = from === undefined && to !== undefined ? "to" : "from";
      const ranges = pool.settings.segments.toString() || "none";
      throw badRequest(parameter, `MACPool ${name} has no address there. Its ranges: ${ranges}.`);
    }
    return map;
  }

  claimPage(question: ClaimQuestion, scope: Scope): LazyLists<ListView<views.ClaimView>> {
    const { limit, continue: token, watch: _, since: __, sendInitialEvents: ___, ...filter } = question;
    const nowMs = this.#options.clock.now();
    const bound = { ...filter, seenBy: scope.namespace };
    const macOf = (key: unknown): Mac | undefined => (typeof key === "number" ? macFromNumber(key) : undefined);
    const after = token === undefined ? -1 : readToken(token, bound, nowMs, macOf);
    const { items, last, total } = this.#claims.list(filter, scope, { limit, after });
    return { items, ...(last === undefined ? {} : { continue: writeToken(last, bound, nowMs) }), total };
  }

  claim(text: string, scope: Scope): views.ClaimView {
    const mac = parseMac(text) as Mac;
    const claim = this.#catalog.claims.get(mac);
    const view = claim && this.#claims.view(claim, scope);
    if (view === undefined || (scope.namespace !== undefined && view.owners.length === 0)) {
      throw notFound(`claim of ${formatMac(mac)} that you may see`, this.#neighbour(mac, scope));
    }
    const hostAddress = hostAddressIn(scope, this.#options.caches.index.hosts.at(mac));
    return { ...view, ...hostAddress, ...runningBeside(mac, this.#catalog, scope) };
  }

  /** Where the owners of an address are. */
  namespacesWith(text: string): readonly string[] {
    const claim = this.#catalog.claims.get(parseMac(text) as Mac);
    const owners = claim === undefined ? [] : statusOf(claim).owners;
    return [...new Set(owners.map(({ namespace }) => namespace))].slice(0, MAX_NAMESPACES);
  }

  async owner(ref: OwnerRef, scope: Scope): Promise<views.OwnerHistoryView> {
    const [catalog, claims, denials, history] = [this.#catalog, this.#claims, this.#denials, this.#history];
    const owner = await ownerHistory(ref, scope, { catalog, claims, denials, history });
    if (owner !== undefined) return owner;
    const meant = closestName(ref.name, ownerNames(ref, catalog));
    throw notFound(`${ref.kind} ${ref.namespace}/${ref.name} with a MAC address or a refusal`, meant);
  }

  collisionsIn(namespace: string | undefined, scope: Scope): ListView<views.CollisionView> {
    return collisionViews(this.#catalog, scope, namespace);
  }

  /** `local`: only what this replica refused. `scope`: only what a reader of this namespace may see. */
  denialsFor(
    {
      local,
      scope: as,
      ...filter
    }: DenialFilter & { readonly local?: boolean | undefined; readonly scope?: string | undefined },
    scope: Scope,
  ) {
    const narrowed = as === undefined || scope.namespace !== undefined ? scope : { namespace: as };
    return local === true ? this.#denials.local(filter, narrowed) : this.#denials.merged(filter, narrowed);
  }

  async consistency(namespace: string | undefined, scope: Scope): Promise<views.ConsistencyView> {
    const narrowed = namespace === undefined ? scope : { namespace };
    const isWhole = narrowed.namespace === undefined;
    const leader = isWhole ? await this.#options.leader().catch(() => undefined) : undefined;
    const { findings, total } = await this.#consistency.findings(narrowed, leader !== null);
    return {
      findings: [...findings],
      total,
      adoption: this.#consistency.adoption(narrowed),
      leader: leader ?? null,
      replicas: isWhole ? await this.#replicas() : [],
      caches: isWhole ? this.#sizes() : [],
    };
  }

  namespacesIn(namespace: string | undefined, scope: Scope): ListView<views.NamespaceView> {
    const { caches } = this.#options;
    const only = namespace ?? scope.namespace;
    const found = namespaceViews(only === undefined ? namespaceNames(caches) : [only], caches);
    if (namespace === undefined || found.total > 0) return found;
    const names = scope.namespace === undefined ? namespaceNames(caches) : [];
    throw notFound(`namespace ${namespace}`, closestName(namespace, names));
  }

  check(mac: string, namespace: string, scope: Scope): views.CheckView {
    const options = { claims: this.#claims, catalog: this.#catalog, clock: this.#options.clock };
    return checkAddress(parseMac(mac) as Mac, namespace, scope, options);
  }

  status(viewers: number): views.StatusView {
    const { caches, self } = this.#options;
    return {
      version: PRODUCT_VERSION,
      replica: self,
      pools: caches.index.pools().length,
      claims: this.#catalog.claims.size,
      collisions: collidingMacs(this.#catalog).length,
      denials: this.#denials.size,
      viewers,
    };
  }

  async #replicas(): Promise<views.ConsistencyView["replicas"]> {
    const { answers, missing } = await this.#options.replicas.ask(LOCAL_DENIALS);
    return [
      { name: this.#options.self, answers: true },
      ...answers.map(({ replica }) => ({ name: replica, answers: true })),
      ...missing.map((name) => ({ name, answers: false })),
    ];
  }

  #sizes(): views.ConsistencyView["caches"] {
    const { claims, pools, machines, instances, pods, namespaces } = this.#options.caches;
    return [claims, pools, machines, instances, pods, namespaces].map((informer) => ({
      kind: informer.resource.plural,
      objects: informer.list().length,
    }));
  }

  #pool(name: string, mayList: boolean): Pool {
    const { index } = this.#options.caches;
    const pool = index.pool(name);
    if (pool !== undefined) return pool;
    const names = mayList ? index.pools().map((one) => one.name) : [];
    throw notFound(`MACPool ${name}`, closestName(name, names));
  }

  /** A claim whose address differs in few digits, of those with the same first octets. */
  #neighbour(mac: Mac, scope: Scope): string | undefined {
    const order = scope.namespace === undefined ? this.#catalog.claims : this.#catalog.claimsIn(scope.namespace);
    const names: string[] = [];
    order.scan((mac - (mac % 0x1_0000)) as Mac, (claim) => names.push(claim.spec.mac) < MAX_NEIGHBOURS);
    return closestName(formatMac(mac), names);
  }
}
