import { parseMac } from "../../api/mac.ts";
import { type ClaimOwner, distinctOwners } from "../../api/mac-claim.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import {
  type Flap,
  flappingMacs,
  flapsOf,
  isElsewhere,
  placeOfStation,
  SEEN_ELSEWHERE_ADVICE,
} from "../../api/seen-elsewhere.ts";
import type { CollisionView, ListView } from "../../mac-pool/inspection/rest/views.ts";
import { placed } from "./object-places.ts";
import { plain } from "./plain-text.ts";
import type { PoolObjects } from "./pool-objects.ts";

export const SHARED_ADVICE = "Stop all but one of them, or change their addresses.";

/**
 * Addresses with several owners, or with one and a station outside the cluster. The node of an owner is left out where the
 * user may not read it, and stations where they may not read NodeMACs.
 */
export async function collisionsOf(
  objects: PoolObjects,
  namespace: string | undefined,
): Promise<ListView<CollisionView>> {
  const [claims, reports = []] = await Promise.all([objects.claims(), objects.reports()]);
  const flapping = new Set(reports.flatMap(flappingMacs));
  const items: CollisionView[] = [];
  for (const { spec, status } of claims) {
    const owners = distinctOwners(status?.owners ?? []);
    if (!(namespace === undefined || owners.some((one) => one.namespace === namespace))) continue;
    const flaps = flapping.has(spec.mac) ? await disturbing(owners, flapsIn(reports, spec.mac), objects) : [];
    if (owners.length < 2 && flaps.length === 0) continue;
    const parties = (await placed(objects, owners)).map((owner) => ({
      kind: owner.kind,
      namespace: owner.namespace,
      name: owner.name ?? `${owner.generateName ?? ""}*`,
      interface: owner.interface,
      since: owner.since,
      ...(owner.network === undefined ? {} : { network: owner.network }),
      ...(owner.node ? { node: owner.node } : {}),
    }));
    const advice = [
      ...(owners.length > 1 ? [SHARED_ADVICE] : []),
      ...(flaps.length > 0 ? [SEEN_ELSEWHERE_ADVICE] : []),
    ];
    const stations = flaps.length === 0 ? {} : { stations: flaps.map(placeOfStation) };
    items.push(plain({ mac: spec.mac, parties, ...stations, elsewhere: 0, advice: advice.join(" ") }));
  }
  return { items, total: items.length };
}

function flapsIn(reports: readonly NodeMACs[], text: string): readonly Flap[] {
  const mac = parseMac(text);
  return mac === undefined ? [] : flapsOf(mac, reports);
}

async function disturbing(
  owners: readonly ClaimOwner[],
  flaps: readonly Flap[],
  objects: PoolObjects,
): Promise<readonly Flap[]> {
  const seats = await Promise.all(owners.map((owner) => objects.seat(owner)));
  return flaps.filter((flap) => seats.some((seat) => isElsewhere(seat, flap, seats)));
}
