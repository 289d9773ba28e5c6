import { formatMac, type Mac, parseMac } from "../../../api/mac.ts";
import type { ClaimOwner } from "../../../api/mac-claim.ts";
import { textAt } from "../../../kube/json-path.ts";
import { countObjects, meetingObjects } from "../../claims/collision.ts";
import type { RunningAt } from "../../cluster/caches.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { CollisionPartyView, CollisionView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { type Scope, seen } from "./scope.ts";

/** Guests choose how many addresses collide, and with how many others. A party has 1 kB at most. */
const MAX_COLLISIONS = 1_000;
const MAX_PARTIES = 100;

const ADVICE =
  "Stop all but one of the parties, or give them other addresses: leave the address out to get a free one from the pool.";

/** Addresses that several running objects have on networks that can meet, as far as this replica knows. */
export function collidingMacs(catalog: Catalog): Mac[] {
  return [...catalog.shared]
    .flatMap((text) => parseMac(text) ?? [])
    .filter((mac) => partiesAt(mac, catalog).length > 0)
    .sort((a, b) => a - b);
}

/** Collisions with a party that the reader may see; `namespace`: with one in that namespace. */
export function collisionViews(catalog: Catalog, scope: Scope, namespace = scope.namespace): ListView<CollisionView> {
  const items: CollisionView[] = [];
  let total = 0;
  for (const mac of collidingMacs(catalog)) {
    const { visible, elsewhere } = seen(scope, partiesAt(mac, catalog));
    const isMeant = visible.some((party) => namespace === undefined || party.namespace === namespace);
    if (!isMeant || ++total > MAX_COLLISIONS) continue;
    const parties = visible.slice(0, MAX_PARTIES).map((party) => partyView(mac, party, catalog));
    const more = visible.length - parties.length;
    const advice = more === 0 ? ADVICE : `${ADVICE} ${more} more parties are not listed.`;
    items.push({ mac: formatMac(mac), parties, elsewhere, advice });
  }
  return { items, total };
}

function partiesAt(mac: Mac, { caches }: Catalog): readonly RunningAt[] {
  const running = caches.running(mac);
  if (running.length < 2) return [];
  const parties = meetingObjects(running, running.map(caches.networks.cached));
  return countObjects(parties) > 1 ? parties : [];
}

function partyView(mac: Mac, { kind, namespace, name, network }: RunningAt, catalog: Catalog): CollisionPartyView {
  const { pods, instances } = catalog.caches;
  const { owners = [] } = catalog.claims.get(mac)?.status ?? {};
  const owner = owners.find((each) => isSameObject(each, { kind, namespace, name }));
  const key = `${namespace}/${name}`;
  const node =
    kind === "Pod" ? textAt(pods.get(key), "spec", "nodeName") : textAt(instances.get(key), "status", "nodeName");
  return {
    kind,
    namespace,
    name,
    ...(owner === undefined ? {} : { interface: owner.interface, since: owner.since }),
    ...(network === undefined ? {} : { network }),
    ...(node === "" ? {} : { node }),
  };
}

/** A VMI runs for the VM of its name. */
function isSameObject(owner: ClaimOwner, party: Pick<RunningAt, "kind" | "namespace" | "name">): boolean {
  const isGuest = party.kind === "VirtualMachineInstance" && owner.kind === "VirtualMachine";
  return (owner.kind === party.kind || isGuest) && owner.namespace === party.namespace && owner.name === party.name;
}
