import { formatMac, type Mac, parseMac } from "../../../api/mac.ts";
import type { ClaimOwner } from "../../../api/mac-claim.ts";
import { placeOfStation, SEEN_ELSEWHERE_ADVICE } from "../../../api/seen-elsewhere.ts";
import { textAt } from "../../../kube/json-path.ts";
import { countObjects, meetingObjects } from "../../claims/collision.ts";
import type { RunningAt } from "../../cluster/running-now.ts";
import { type Affected, affectedBy } from "../../controllers/seen-elsewhere.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { CollisionPartyView, CollisionView, StationView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { type Scope, seen, sees } from "./scope.ts";

/** Guests choose how many addresses collide, and with how many others. A party has 1 kB at most. */
const MAX_COLLISIONS = 1_000;
const MAX_PARTIES = 100;

const ADVICE =
  "Stop all but one of the parties, or give them other addresses: leave the address out to get one from the pool.";

const SAID_ADVICE = "Where only its annotations say that a pod has it, look at the pod's interfaces first.";

/** An address that several running objects have on networks that can meet, or one and a station outside the cluster. */
interface Collision {
  readonly mac: Mac;
  readonly parties: readonly RunningAt[];
  /** It would be none without what pods say of themselves. */
  readonly isSaid: boolean;
  /** Parties that a station disturbs, and what their node says of it. */
  readonly affected: readonly Affected[];
}

/** As far as this replica knows. */
export function collidingMacs(catalog: Catalog): Mac[] {
  return collisions(catalog).map(({ mac }) => mac);
}

/** In the order of their addresses. */
function collisions(catalog: Catalog): Collision[] {
  return [...new Set([...catalog.shared, ...catalog.flapping])]
    .flatMap((text) => parseMac(text) ?? [])
    .map((mac) => collisionAt(mac, catalog))
    .filter(({ parties }) => parties.length > 0)
    .sort((one, other) => one.mac - other.mac);
}

/**
 * Collisions with a party that the reader may see; `namespace`: with one in that namespace. Those that pods only say come last,
 * so that they take no other's place.
 */
export function collisionViews(catalog: Catalog, scope: Scope, namespace = scope.namespace): ListView<CollisionView> {
  const items: CollisionView[] = [];
  let total = 0;
  const knownFirst = collisions(catalog).sort((one, other) => Number(one.isSaid) - Number(other.isSaid));
  for (const { mac, parties: all, affected, isSaid } of knownFirst) {
    const { visible, elsewhere } = seen(scope, all);
    const isMeant = visible.some((party) => namespace === undefined || party.namespace === namespace);
    if (!isMeant || ++total > MAX_COLLISIONS) continue;
    const parties = partyViews(mac, visible, catalog);
    const more = visible.length - parties.length;
    const stations = stationViews(affected.filter(({ object }) => sees(scope, object)));
    const advice = [
      ...(all.length > 1 ? [ADVICE] : []),
      ...(all.some(({ saidBy }) => saidBy !== undefined) ? [SAID_ADVICE] : []),
      ...(stations.length > 0 ? [SEEN_ELSEWHERE_ADVICE] : []),
      ...(more > 0 ? [`${more} more parties are not listed.`] : []),
    ].join(" ");
    items.push({
      mac: formatMac(mac),
      parties,
      ...(stations.length === 0 ? {} : { stations }),
      elsewhere,
      ...(isSaid ? { isSaid } : {}),
      advice,
    });
  }
  return { items, total };
}

function collisionAt(mac: Mac, { caches }: Catalog): Collision {
  const running = caches.running(mac);
  const affected = affectedBy(mac, caches);
  const meeting = collidingAmong(running, caches);
  const known = running.filter(({ saidBy }) => saidBy === undefined);
  const isSaid = affected.length === 0 && collidingAmong(known, caches).length === 0;
  const uids = new Set([...meeting, ...affected.map(({ object }) => object)].map(({ uid }) => uid));
  return { mac, parties: running.filter(({ uid }) => uids.has(uid)), affected, isSaid };
}

function collidingAmong(running: readonly RunningAt[], { networks }: Catalog["caches"]): readonly RunningAt[] {
  const meeting = running.length < 2 ? [] : meetingObjects(running, running.map(networks.cached));
  return countObjects(meeting) > 1 ? meeting : [];
}

/** The event on an object names them too, so whoever sees it may see where they are. Several objects can run on one node. */
function stationViews(affected: readonly Affected[]): StationView[] {
  const views = affected.map(({ flap }) => placeOfStation(flap));
  return [...new Map(views.map((view) => [JSON.stringify(view), view])).values()].slice(0, MAX_PARTIES);
}

/** What runs with the address and is no owner, or one that the pool does not manage, as far as the reader may see it. */
export function runningBeside(
  mac: Mac,
  catalog: Catalog,
  scope: Scope,
): { readonly sayingPods?: CollisionPartyView[]; readonly unmanagedInstances?: CollisionPartyView[] } {
  const { visible } = seen(scope, catalog.caches.running(mac));
  const saying = visible.filter(({ saidBy }) => saidBy !== undefined);
  const unmanaged = visible.filter(({ kind, isManaged }) => kind === "VirtualMachineInstance" && !isManaged);
  return {
    ...(saying.length === 0 ? {} : { sayingPods: partyViews(mac, saying, catalog) }),
    ...(unmanaged.length === 0 ? {} : { unmanagedInstances: partyViews(mac, unmanaged, catalog) }),
  };
}

/** Of the first of them. */
export function partyViews(mac: Mac, parties: readonly RunningAt[], catalog: Catalog): CollisionPartyView[] {
  return parties.slice(0, MAX_PARTIES).map((party) => partyView(mac, party, catalog));
}

function partyView(mac: Mac, party: RunningAt, catalog: Catalog): CollisionPartyView {
  const { kind, namespace, name, network, interface: listed, saidBy, asksForIt, isManaged } = party;
  const { pods, instances } = catalog.caches;
  const { owners = [] } = catalog.claims.get(mac)?.status ?? {};
  const owner = owners.find((each) => isSameObject(each, party));
  const nic = saidBy === undefined ? (owner?.interface ?? listed) : listed;
  const key = `${namespace}/${name}`;
  const node =
    kind === "Pod" ? textAt(pods.get(key), "spec", "nodeName") : textAt(instances.get(key), "status", "nodeName");
  return {
    kind,
    namespace,
    name,
    ...(nic === undefined ? {} : { interface: nic }),
    ...(owner === undefined ? {} : { since: owner.since }),
    ...(network === undefined ? {} : { network }),
    ...(node === "" ? {} : { node }),
    ...(saidBy === undefined ? {} : { saidBy }),
    ...(asksForIt === undefined ? {} : { asksForIt }),
    ...(isManaged ? {} : { isManaged }),
  };
}

/** A VMI runs for the VM of its name. */
export function isSameObject(
  owner: Pick<ClaimOwner, "kind" | "namespace" | "name">,
  party: Pick<RunningAt, "kind" | "namespace" | "name">,
): boolean {
  const isGuest = party.kind === "VirtualMachineInstance" && owner.kind === "VirtualMachine";
  return (owner.kind === party.kind || isGuest) && owner.namespace === party.namespace && owner.name === party.name;
}
