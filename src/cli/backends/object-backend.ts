import {
  describeHostConflict,
  describeHosts,
  HOST_CONFLICT_ADVICE,
  type HostInterface,
} from "../../api/host-interfaces.ts";
import { type Mac, parseMac } from "../../api/mac.ts";
import { type ClaimOwner, isNamesake, type MACClaim, originFor } from "../../api/mac-claim.ts";
import type {
  CollisionView,
  HistoryEntryView,
  ListView,
  MapView,
  PoolView,
  WatchEventView,
} from "../../mac-pool/inspection/rest/views.ts";
import { CliError } from "../faults.ts";
import { KnownClaims } from "./known-claims.ts";
import { collisionsOf } from "./object-collisions.ts";
import { countedFindings, findingOf, findingsOf, groupedFindings, stationFindings } from "./object-findings.ts";
import { placed, placeView } from "./object-places.ts";
import {
  claimView,
  mapView,
  type NamedSegments,
  namedSegments,
  ownersOf,
  phaseOf,
  poolView,
  segmentsOf,
} from "./object-views.ts";
import { plain } from "./plain-text.ts";
import {
  type Finding,
  type KnownClaim,
  type KnownConsistency,
  type KnownHistory,
  type KnownInterface,
  type ListedClaim,
  type MapSection,
  NeedsService,
  noPool,
  type OwnerRef,
  type PoolBackend,
  poolWith,
  type ServiceUnavailable,
  type UnclaimedAddress,
} from "./pool-backend.ts";
import type { PoolObjects } from "./pool-objects.ts";

const UNKNOWN =
  "Claims without owners, owners without claims, what waits and what is wrong with networks are not known.";
const UNKNOWN_HOSTS = "Neither is which objects have the address of a node: you may not read NodeMACs.";
const NO_POOL: Finding = {
  code: "NO_POOL",
  message: "There is no MACPool.",
  advice: "Set kubeMacPool in NetworkAddonsConfig cluster.",
};

const NETWORKS =
  "where a network works and who is on it; of a file, kubectl macpool lint -f FILE --nodes says what is wrong without it";

/** Reads MACPool and MACClaim objects with the user's own rights, for when the pool's service is down. */
export class ObjectBackend implements PoolBackend {
  readonly knowsRefusals = false;
  readonly #objects: PoolObjects;
  readonly #unavailable: () => ServiceUnavailable;

  /** `unavailable`: why the service is not asked. */
  constructor(objects: PoolObjects, unavailable: () => ServiceUnavailable) {
    this.#objects = objects;
    this.#unavailable = unavailable;
  }

  async pools(): Promise<readonly PoolView[]> {
    const pools = await this.#objects.pools();
    const countsOwn = pools.every((pool) => segmentsOf(pool).spans.length < 2);
    const hasStations = ((await this.#objects.stations([])) ?? NO_STATIONS).size > 0;
    const claims = countsOwn && !hasStations ? [] : await this.#objects.claims();
    const kept = await this.#objects.keptBack(claims);
    return plain(pools.map((pool) => poolView(pool, { claims, kept }, countsOwn)));
  }

  async claims(namespace?: string): Promise<readonly ListedClaim[]> {
    const [pools, claims] = await Promise.all([this.#objects.pools(), this.#objects.claims()]);
    const wanted = claims.filter(
      (claim) => namespace === undefined || ownersOf(claim).some((owner) => owner.namespace === namespace),
    );
    const named = pools.map(namedSegments);
    return wanted.map((claim) => viewOf(claim, named));
  }

  async claim(mac: Mac): Promise<KnownClaim | undefined> {
    const claim = await this.#objects.claim(mac);
    if (claim === undefined) return undefined;
    const [pools, hosts, owners] = await Promise.all([
      this.#objects.pools(),
      this.#objects.hosts(),
      placed(this.#objects, ownersOf(claim)),
    ]);
    return plain({ ...viewOf(claim, pools.map(namedSegments)), owners, ...hostAddressAt(mac, hosts) });
  }

  async unclaimed(mac: Mac): Promise<UnclaimedAddress> {
    const [pools, known, stations] = await Promise.all([
      this.pools(),
      this.#objects.hosts(),
      this.#objects.stations([]),
    ]);
    const { name: pool } = poolWith(pools, mac) ?? {};
    const station = stations?.get(mac);
    const hosts = hostAddressAt(mac, known).hostAddress ?? (station && describeHosts([station]));
    const knowsHosts = known !== undefined;
    return { inRange: pool !== undefined, pool, holders: [], elsewhere: 0, hosts, knowsHosts };
  }

  async map(name: string, section: MapSection): Promise<MapView> {
    const [pools, claims] = await Promise.all([this.#objects.pools(), this.#objects.claims()]);
    const pool = pools.find(({ metadata }) => metadata.name === name);
    if (pool === undefined) {
      const names = pools.map(({ metadata }) => metadata.name ?? "");
      throw new CliError(noPool(name, names));
    }
    return mapView(pool, { claims, kept: await this.#objects.keptBack(claims) }, section);
  }

  async owner(ref: OwnerRef): Promise<KnownHistory | undefined> {
    const [claims, exists, holder] = await Promise.all([
      this.#objects.claims(),
      this.#objects.exists(ref),
      this.#objects.holder(ref),
    ]);
    const heldBy = (who: OwnerRef) =>
      claims.flatMap((claim) => ownersOf(claim).flatMap((owner) => (isNamesake(owner, who) ? { claim, owner } : [])));
    const held = heldBy(ref);
    if (held.length === 0 && exists !== true) return undefined;
    const [place, hosts] = await Promise.all([this.#objects.place(ref), this.#objects.hosts()]);
    const interfaceOf = ({
      claim,
      owner,
    }: {
      readonly claim: MACClaim;
      readonly owner: ClaimOwner;
    }): KnownInterface => ({
      interface: owner.interface,
      mac: claim.spec.mac,
      claim: claim.metadata.name ?? "",
      phase: phaseOf(claim),
      origin: originFor(claim, owner),
      ...(owner.network === undefined ? {} : { network: owner.network }),
      since: owner.since,
      ...hostAddressAt(parseMac(claim.spec.mac), hosts),
    });
    const ofHolder = (holder ? heldBy(holder) : []).map(interfaceOf);
    const named = holder && { kind: holder.kind, name: holder.name };
    return plain({
      ...ref,
      exists,
      ...placeView(place),
      ...(holder === null ? { holder } : {}),
      interfaces: [...held.map(interfaceOf), ...ofHolder.map((one) => (named ? { ...one, holder: named } : one))],
      history: held.map(({ claim, owner }) => allocation(claim, owner)).sort((a, b) => (a.at < b.at ? 1 : -1)),
      partial: [],
    });
  }

  collisions(namespace?: string): Promise<ListView<CollisionView>> {
    return collisionsOf(this.#objects, namespace);
  }

  async denials(): Promise<never> {
    throw new NeedsService("the denials");
  }

  async namespaces(): Promise<never> {
    throw new NeedsService("the rules of each namespace");
  }

  async networks(): Promise<never> {
    throw new NeedsService(NETWORKS);
  }

  async network(): Promise<never> {
    throw new NeedsService(NETWORKS);
  }

  async bridges(): Promise<never> {
    throw new NeedsService(NETWORKS);
  }

  async check(): Promise<never> {
    throw new NeedsService("what would be accepted");
  }

  /** Begins with a finding that the service is unavailable: much of what the service would report is missing here. */
  async consistency(namespace?: string): Promise<KnownConsistency> {
    const [pools, { items: shared }, hosts] = await Promise.all([
      namespace === undefined ? this.pools() : undefined,
      this.collisions(namespace),
      this.#objects.hosts(),
    ]);
    const { message: reason, advice } = this.#unavailable();
    const unknown = hosts === undefined ? `${UNKNOWN} ${UNKNOWN_HOSTS}` : UNKNOWN;
    const conflicts = hosts === undefined ? [] : await this.#hostConflicts(hosts, namespace);
    const ofAddresses = [...shared.flatMap(findingsOf), ...conflicts];
    const findings: Finding[] = [
      { code: "SERVICE_AWAY", message: `The MAC pool's service can't be asked: ${reason}. ${unknown}`, advice },
      ...(pools?.length === 0 ? [NO_POOL] : []),
      ...(pools ?? []).flatMap((pool) => [
        ...findingOf(pool),
        ...stationFindings(pool),
        ...countedFindings(pool, ofAddresses),
      ]),
      ...groupedFindings(ofAddresses),
    ];
    return {
      findings,
      total: findings.length,
      adoption: { ended: false, message: "not known" },
      leader: null,
      replicas: [],
      caches: [],
    };
  }

  async *watch(namespace: string | undefined, signal: AbortSignal): AsyncGenerator<WatchEventView<ListedClaim>> {
    const pools = (await this.#objects.pools()).map(namedSegments);
    const known = new KnownClaims();
    const isWanted = (claim: MACClaim): boolean =>
      namespace === undefined || ownersOf(claim).some((owner) => owner.namespace === namespace);
    for await (const change of this.#objects.changes(signal)) {
      if ("list" in change) yield* known.replace(change.list.filter(isWanted).map((claim) => viewOf(claim, pools)));
      else {
        // A claim without an owner in the namespace is deleted for those who watch the namespace.
        const type = isWanted(change.claim) ? change.type : "DELETED";
        yield* known.apply({ type, object: viewOf(change.claim, pools) });
      }
    }
  }

  /** The conflicts that the service would report. A pool's policy Off is ignored where the user may not read the pool. */
  async #hostConflicts(hosts: Hosts, namespace: string | undefined): Promise<readonly Finding[]> {
    const [claims, pools] = await Promise.all([this.#objects.claims(), this.#objects.readablePools()]);
    const silent = new Set(
      pools.flatMap(({ metadata, spec }) => (spec.hostAddressPolicy === "Off" ? metadata.name : [])),
    );
    return claims.flatMap((claim): Finding[] => {
      const { mac, pool } = claim.spec;
      const owner = ownersOf(claim).find((one) => namespace === undefined || one.namespace === namespace);
      const { hostAddress } = hostAddressAt(parseMac(mac), hosts);
      if (owner?.name === undefined || !hostAddress || silent.has(pool)) return [];
      const { kind, name } = owner;
      const message = describeHostConflict(mac, hostAddress);
      const found = { code: "HOST_CONFLICT", mac, message, advice: HOST_CONFLICT_ADVICE } as const;
      return [plain({ ...found, owner: { kind, namespace: owner.namespace, name } })];
    });
  }
}

const NO_STATIONS: ReadonlyMap<Mac, HostInterface> = new Map();

type Hosts = ReadonlyMap<Mac, readonly HostInterface[]>;

function hostAddressAt(mac: Mac | undefined, hosts: Hosts | undefined): Pick<KnownClaim, "hostAddress"> {
  if (hosts === undefined) return { hostAddress: null };
  const found = mac === undefined ? undefined : hosts.get(mac);
  return found === undefined ? {} : { hostAddress: describeHosts(found) };
}

function viewOf(claim: MACClaim, pools: readonly NamedSegments[]): ListedClaim {
  return plain(claimView(claim, pools, ownersOf(claim)));
}

function allocation(claim: MACClaim, owner: ClaimOwner): HistoryEntryView {
  const from = claim.spec.pool === undefined ? "" : `, pool ${claim.spec.pool}`;
  const { mac } = claim.spec;
  const message = `${mac} for interface "${owner.interface}" (${originFor(claim, owner)}${from})`;
  return { at: owner.since, what: "allocated", mac, interface: owner.interface, message };
}
