import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, distinctOwners, isNamesake, type MACClaim } from "../../api/mac-claim.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import type {
  ClaimView,
  CollisionView,
  ListView,
  MapView,
  OwnerStoryView,
  OwnerView,
  PoolView,
  StoryEntryView,
  WatchEventView,
} from "../../mac-pool/inspection/views.ts";
import { CliError } from "../faults.ts";
import {
  type Door,
  type Finding,
  type KnownConsistency,
  type MapSection,
  OnlyService,
  type OwnerRef,
  type ServiceAway,
  type UnclaimedAddress,
} from "./door.ts";
import { KnownClaims } from "./known-claims.ts";
import { mapView } from "./object-map.ts";
import { claimView, ownersOf, poolView, rangesOf } from "./object-views.ts";
import { plain } from "./plain-text.ts";
import type { PoolObjects } from "./pool-objects.ts";
import { poolWith } from "./pool-ranges.ts";

const UNKNOWN = "Claims without owners, owners without claims and what waits are not known.";
const NO_POOL: Finding = {
  code: "NO_POOL",
  message: "There is no MACPool.",
  advice: "Set kubeMacPool in NetworkAddonsConfig cluster.",
};
const SHARED_ADVICE = "Stop all but one of them, or change their addresses.";

/** MACPool and MACClaim objects, with the user's own rights: what is known while the pool's service is down. */
export class ObjectDoor implements Door {
  readonly #objects: PoolObjects;
  readonly #away: () => ServiceAway;

  /** `away`: why the service is not asked. */
  constructor(objects: PoolObjects, away: () => ServiceAway) {
    this.#objects = objects;
    this.#away = away;
  }

  async pools(): Promise<readonly PoolView[]> {
    const pools = await this.#objects.pools();
    const countsOwn = pools.every((pool) => rangesOf(pool).length < 2);
    const claims = countsOwn ? undefined : await this.#objects.claims();
    const keptBack = claims && (await this.#objects.keptBack(claims));
    return plain(pools.map((pool) => poolView(pool, claims && { claims, keptBack })));
  }

  async claims(namespace?: string): Promise<readonly ClaimView[]> {
    const [pools, claims] = await Promise.all([this.#objects.pools(), this.#objects.claims()]);
    const wanted = claims.filter(
      (claim) => namespace === undefined || ownersOf(claim).some((owner) => owner.namespace === namespace),
    );
    return wanted.map((claim) => viewOf(claim, pools));
  }

  async claim(mac: Mac): Promise<ClaimView | undefined> {
    const claim = await this.#objects.claim(mac);
    if (claim === undefined) return undefined;
    const [pools, owners] = await Promise.all([this.#objects.pools(), this.#placed(ownersOf(claim))]);
    return viewOf(claim, pools, owners);
  }

  async unclaimed(mac: Mac): Promise<UnclaimedAddress> {
    const [pools, hosts] = await Promise.all([this.pools(), this.#objects.hostsAt(mac)]);
    const { name: pool } = poolWith(pools, mac) ?? {};
    const named = hosts?.map((host) => `interface ${host.interface} of node ${host.node}`).join(" and ");
    const knowsHosts = hosts !== undefined;
    return { inRange: pool !== undefined, pool, holders: [], elsewhere: 0, hosts: named || undefined, knowsHosts };
  }

  async map(name: string, section: MapSection): Promise<MapView> {
    const [pools, claims] = await Promise.all([this.#objects.pools(), this.#objects.claims()]);
    const pool = pools.find(({ metadata }) => metadata.name === name);
    if (pool === undefined) throw new CliError(noPool(name, pools));
    return mapView(pool, { claims, keptBack: await this.#objects.keptBack(claims) }, section);
  }

  async owner(ref: OwnerRef): Promise<OwnerStoryView | undefined> {
    const isRef = (owner: ClaimOwner): boolean => isNamesake(owner, ref);
    const [claims, exists] = await Promise.all([this.#objects.claims(), this.#objects.exists(ref)]);
    const held = claims.flatMap((claim) => ownersOf(claim).flatMap((owner) => (isRef(owner) ? { claim, owner } : [])));
    const [first] = held;
    if (first === undefined && exists !== true) return undefined;
    const place = first === undefined ? undefined : await this.#objects.place(first.owner);
    return plain({
      ...ref,
      exists: exists ?? true,
      ...(place === undefined ? {} : { node: place.node, pod: place.pod }),
      interfaces: held.map(({ claim, owner }) => ({
        interface: owner.interface,
        mac: claim.spec.mac,
        claim: claim.metadata.name ?? "",
        phase: claim.status?.phase ?? "Pending",
        origin: claim.spec.origin,
        ...(owner.network === undefined ? {} : { network: owner.network }),
        since: owner.since,
      })),
      story: held.map(({ claim, owner }) => allocation(claim, owner)).sort((a, b) => (a.at < b.at ? 1 : -1)),
      partial: [],
    });
  }

  /** Addresses with several owners; where they run is read as far as the user may. */
  async collisions(namespace?: string): Promise<ListView<CollisionView>> {
    const items: CollisionView[] = [];
    for (const claim of await this.#objects.claims()) {
      const owners = distinctOwners(ownersOf(claim));
      if (owners.length < 2 || !(namespace === undefined || owners.some((one) => one.namespace === namespace)))
        continue;
      const parties = (await this.#placed(owners)).map((owner) => ({
        kind: owner.kind,
        namespace: owner.namespace,
        name: owner.name ?? `${owner.generateName ?? ""}*`,
        interface: owner.interface,
        since: owner.since,
        ...(owner.network === undefined ? {} : { network: owner.network }),
        ...(owner.node === undefined ? {} : { node: owner.node }),
      }));
      items.push(plain({ mac: claim.spec.mac, parties, elsewhere: 0, advice: SHARED_ADVICE }));
    }
    return { items, total: items.length };
  }

  async denials(): Promise<never> {
    throw new OnlyService("the denials");
  }

  async namespaces(): Promise<never> {
    throw new OnlyService("the rules of each namespace");
  }

  async check(): Promise<never> {
    throw new OnlyService("what would be accepted");
  }

  /** What the service alone could tell is missing, so that it is a finding that the service is not asked. */
  async consistency(namespace?: string): Promise<KnownConsistency> {
    const [pools, { items: shared }] = await Promise.all([
      namespace === undefined ? this.pools() : undefined,
      this.collisions(namespace),
    ]);
    const { message: reason, advice } = this.#away();
    const findings: Finding[] = [
      { code: "SERVICE_AWAY", message: `The MAC pool's service can't be asked: ${reason}. ${UNKNOWN}`, advice },
      ...(pools?.length === 0 ? [NO_POOL] : []),
      ...(pools ?? []).flatMap(findingOf),
      ...shared.map(({ mac, parties, advice }): Finding => {
        const names = parties.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(" and ");
        return { code: "SHARED_ADDRESS", mac, message: `${names} have one address.`, advice };
      }),
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

  async *watch(namespace: string | undefined, signal: AbortSignal): AsyncGenerator<WatchEventView<ClaimView>> {
    const pools = await this.#objects.pools();
    const known = new KnownClaims();
    const isWanted = (claim: MACClaim): boolean =>
      namespace === undefined || ownersOf(claim).some((owner) => owner.namespace === namespace);
    for await (const change of this.#objects.changes(signal)) {
      if ("list" in change) yield* known.replace(change.list.filter(isWanted).map((claim) => viewOf(claim, pools)));
      else {
        // A claim that its last owner of the namespace has left is gone for those who look at the namespace.
        const type = isWanted(change.claim) ? change.type : "DELETED";
        yield* known.apply({ type, object: viewOf(change.claim, pools) });
      }
    }
  }

  async #placed(owners: readonly ClaimOwner[]): Promise<readonly OwnerView[]> {
    return Promise.all(owners.map(async (owner) => ({ ...owner, ...(await this.#objects.place(owner)) })));
  }
}

function viewOf(claim: MACClaim, pools: readonly MACPool[], owners?: readonly OwnerView[]): ClaimView {
  return plain(claimView(claim, pools.flatMap(rangesOf), owners ?? ownersOf(claim)));
}

function allocation({ spec }: MACClaim, owner: ClaimOwner): StoryEntryView {
  const from = spec.pool === undefined ? "" : `, pool ${spec.pool}`;
  const message = `${spec.mac} for interface "${owner.interface}" (${spec.origin}${from})`;
  return { at: owner.since, what: "allocated", mac: spec.mac, interface: owner.interface, message };
}

function findingOf({ name: pool, problem = "", capacity, free }: PoolView): Finding[] {
  if (problem !== "") return [{ code: "POOL_INVALID", pool, message: problem, advice: "Correct the MACPool." }];
  if (capacity === 0 || free > 0) return [];
  const message = `None of its ${capacity.toLocaleString("en-US")} addresses is free.`;
  const advice = "Add a range to the pool, or delete objects that are no longer needed.";
  return [{ code: "POOL_FULL", pool, message, advice }];
}

function noPool(name: string, pools: readonly MACPool[]): string {
  const names = pools.map(({ metadata }) => metadata.name).join(", ");
  return `there is no MACPool ${JSON.stringify(name)}: ${names === "" ? "there is none at all" : `choose one of ${names}`}`;
}
