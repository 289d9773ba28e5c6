/**
 * The questions that inspection answers. Everything is read from the caches of one replica;
 * only refusals, who leads and who is there are asked elsewhere. What is wrong with a question is thrown as a Problem.
 */

import { formatMac, type Mac, parseMac } from "../../../api/mac.ts";
import { PRODUCT_VERSION } from "../../../api/names.ts";
import type { Clock } from "../../../kube/clock.ts";
import { statusOf } from "../../claims/claim.ts";
import type { Caches } from "../../cluster/caches.ts";
import { readToken, writeToken } from "../rest/continue-token.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { Told } from "../rest/json-of.ts";
import type { Replicas } from "../rest/replicas.ts";
import type * as views from "../rest/views.ts";
import { feedId } from "../watch/feed.ts";
import { Feeds } from "../watch/feeds.ts";
import { Catalog } from "./catalog.ts";
import { CheckQuery } from "./check.ts";
import type { ClaimFilter } from "./claim-filter.ts";
import { ClaimQueries } from "./claims.ts";
import { CollisionQueries } from "./collisions.ts";
import { ConsistencyQuery } from "./consistency.ts";
import type { DenialLog } from "./denial-log.ts";
import { type DenialFilter, DenialQueries, LOCAL_DENIALS } from "./denials.ts";
import { History } from "./history.ts";
import { mapOf } from "./map.ts";
import { NamespaceQueries } from "./namespaces.ts";
import { nearest } from "./nearest.ts";
import { OwnerQueries, type OwnerRef } from "./owners.ts";
import { PoolQueries } from "./pools.ts";
import { badRequest, notFound, Problem } from "./problem.ts";
import { hostAddressIn, type Scope } from "./scope.ts";

/** Namespaces of an address that are asked about in turn whether the reader may see them. */
const MAX_NAMESPACES = 5;
/** Addresses that are looked at for one that was mistyped. */
const MAX_NEIGHBOURS = 500;

export interface InspectorOptions {
  readonly caches: Caches;
  readonly clock: Clock;
  readonly denials: DenialLog;
  readonly replicas: Pick<Replicas, "ask">;
  /** Who holds the lease; null where nobody does. Throws when that can't be told. */
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
  readonly pools: PoolQueries;
  readonly feeds: Feeds;
  readonly #options: InspectorOptions;
  readonly #catalog: Catalog;
  readonly #history: History;
  readonly #claims: ClaimQueries;
  readonly #collisions: CollisionQueries;
  readonly #denials: DenialQueries;
  readonly #owners: OwnerQueries;
  readonly #namespaces: NamespaceQueries;
  readonly #consistency: ConsistencyQuery;
  readonly #check: CheckQuery;

  constructor(options: InspectorOptions) {
    const { caches, clock, denials, replicas, boot } = options;
    const catalog = new Catalog(caches, clock);
    this.#options = options;
    this.#catalog = catalog;
    this.pools = new PoolQueries(caches, catalog);
    this.#claims = new ClaimQueries(caches, catalog);
    this.#collisions = new CollisionQueries(caches, catalog);
    this.#denials = new DenialQueries(denials, replicas);
    this.#history = new History(catalog, clock);
    this.#owners = new OwnerQueries(caches, catalog, this.#claims, this.#denials, this.#history);
    this.#namespaces = new NamespaceQueries(caches);
    this.#consistency = new ConsistencyQuery(caches, catalog, clock);
    this.#check = new CheckQuery(caches, this.#claims, this.#namespaces, clock);
    const queries = { claims: this.#claims, pools: this.pools, collisions: this.#collisions, denials: this.#denials };
    this.feeds = new Feeds({ ...queries, catalog, boot, clock });
  }

  /** The caches are filled: what changes from now on has happened now. */
  begin(): void {
    this.#catalog.rates.begin();
    this.#history.begin();
  }

  /** What an answer is made of: two answers of one revision are the same for those who may see the same. */
  tagFor({ namespace }: Scope): string {
    return `"${feedId(this.#options.boot, this.#catalog.revision, namespace)}"`;
  }

  pool(name: string, mayList: boolean): views.PoolView {
    const pool = this.pools.get(name);
    if (pool === undefined) throw this.#noPool(name, mayList);
    return pool;
  }

  map(name: string, query: { cells: number; from?: string | undefined; to?: string | undefined }, mayList: boolean) {
    const pool = this.#options.caches.index.pool(name);
    if (pool === undefined) throw this.#noPool(name, mayList);
    const [from, to] = [query.from, query.to].map((text) => (text === undefined ? undefined : parseMac(text)));
    if (from !== undefined && to !== undefined && to < from) {
      throw badRequest("to", "to must not be below from: exchange them.");
    }
    const map = mapOf(pool, this.#catalog.claims, this.#collisions.macs(), { cells: query.cells, from, to });
    if (map === undefined) {
      const parameter = from === undefined && to !== undefined ? "to" : "from";
      const ranges = pool.settings.segments.toString() || "none";
      throw badRequest(parameter, `MACPool ${name} has no address there. Its ranges: ${ranges}.`);
    }
    return map;
  }

  claimPage(question: ClaimQuestion, scope: Scope): Told<ListView<views.ClaimView>> {
    const { limit, continue: token, watch: _, since: __, sendInitialEvents: ___, ...filter } = question;
    const nowMs = this.#options.clock.now();
    const bound = { ...filter, seenBy: scope.namespace };
    const read = token === undefined ? undefined : readToken(token, bound, nowMs);
    if (read?.ok === false && read.why === "foreign") {
      const detail = "continue is not a token for this filter: ask for the first page, without continue.";
      throw badRequest("continue", detail);
    }
    if (read?.ok === false) {
      const detail = "The token in continue is older than five minutes: ask for the first page, without continue.";
      throw new Problem("MACPOOL_EXPIRED", detail, { parameter: "continue" });
    }
    const page = { limit, ...(read === undefined ? {} : { after: read.after }) };
    const { items, last, total } = this.#claims.list(filter, scope, page);
    return { items, ...(last === undefined ? {} : { continue: writeToken(last, bound, nowMs) }), total };
  }

  claim(text: string, scope: Scope): views.ClaimView {
    const mac = parseMac(text) as Mac;
    const claim = this.#claims.get(mac);
    const view = claim && this.#claims.view(claim, scope);
    if (view === undefined || (scope.namespace !== undefined && view.owners.length === 0)) {
      throw notFound(`claim of ${formatMac(mac)} that you may see`, this.#neighbour(mac, scope));
    }
    return { ...view, ...hostAddressIn(scope, this.#options.caches.index.hosts.at(mac)) };
  }

  /** Where the owners of an address are. */
  namespacesWith(text: string): readonly string[] {
    const claim = this.#claims.get(parseMac(text) as Mac);
    const owners = claim === undefined ? [] : statusOf(claim).owners;
    return [...new Set(owners.map(({ namespace }) => namespace))].slice(0, MAX_NAMESPACES);
  }

  async owner(ref: OwnerRef, scope: Scope): Promise<views.OwnerStoryView> {
    const story = await this.#owners.story(ref, scope);
    if (story !== undefined) return story;
    const meant = nearest(ref.name, this.#owners.namesIn(ref));
    throw notFound(`${ref.kind} ${ref.namespace}/${ref.name} with a MAC address or a refusal`, meant);
  }

  collisionsIn(namespace: string | undefined, scope: Scope): ListView<views.CollisionView> {
    return this.#collisions.list(scope, namespace);
  }

  /** `local`: what this replica refused. `scope`: what somebody may be told who may see one namespace. */
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
    const found = this.#namespaces.list({ namespace: namespace ?? scope.namespace });
    if (namespace === undefined || found.total > 0) return found;
    const names = scope.namespace === undefined ? this.#namespaces.names() : [];
    throw notFound(`namespace ${namespace}`, nearest(namespace, names));
  }

  check(mac: string, namespace: string, scope: Scope): views.CheckView {
    return this.#check.check(parseMac(mac) as Mac, namespace, scope);
  }

  status(viewers: number): views.StatusView {
    const { caches, self } = this.#options;
    return {
      version: PRODUCT_VERSION,
      replica: self,
      pools: caches.index.pools().length,
      claims: this.#catalog.claims.size,
      collisions: this.#collisions.macs().length,
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

  #noPool(name: string, mayList: boolean): Problem {
    const names = mayList ? this.#options.caches.index.pools().map((pool) => pool.name) : [];
    return notFound(`MACPool ${name}`, nearest(name, names));
  }

  /** A claim whose address differs in few digits, of those with the same first octets. */
  #neighbour(mac: Mac, scope: Scope): string | undefined {
    const order = scope.namespace === undefined ? this.#catalog.claims : this.#catalog.claimsIn(scope.namespace);
    const names: string[] = [];
    order.scan((mac - (mac % 0x1_0000)) as Mac, (claim) => names.push(claim.spec.mac) < MAX_NEIGHBOURS);
    return nearest(formatMac(mac), names);
  }
}
