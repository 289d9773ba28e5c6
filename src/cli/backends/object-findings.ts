import { describeStations, HOST_CONFLICT_ADVICE, MANY_STATIONS, STATIONS_ADVICE } from "../../api/host-interfaces.ts";
import { type Mac, parseMac } from "../../api/mac.ts";
import { sharedSince } from "../../api/mac-claim.ts";
import { describeSeenElsewhere, SEEN_ELSEWHERE_ADVICE } from "../../api/seen-elsewhere.ts";
import type { CollisionView, PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { SHARED_ADVICE } from "./object-collisions.ts";
import { type Finding, poolWith } from "./pool-backend.ts";

/** What the doctor finds in MACPool and MACClaim objects. */

const NO_MAC = 0 as Mac;

/** One finding for all addresses that the same owners share. */
export function groupedFindings(findings: readonly Finding[]): Finding[] {
  const groups = Map.groupBy(findings, ({ code, mac, message }) =>
    code === "SHARED_ADDRESS" ? message : `${code} ${mac}`,
  );
  return [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined || more.length === 0) return first ?? [];
    const message = first.message.replace(ONE_ADDRESS, `have ${more.length + 1} addresses.`);
    return { ...first, message };
  });
}

const ONE_ADDRESS = /have one address\.$/;

/** Of an address with several owners, and of one that a station outside the cluster uses too. */
export function findingsOf({ mac, parties, stations = [] }: CollisionView): Finding[] {
  const names = parties.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(" and ");
  const since = sharedSince(parties);
  const message = `${names} have one address.`;
  const shared: Finding = { code: "SHARED_ADDRESS", mac, ...(since && { since }), message, advice: SHARED_ADVICE };
  const elsewhere = stations.slice(0, 1).map(({ node, ...station }): Finding => {
    const party = parties.find((one) => one.node === node) ?? parties[0];
    const owner = party && { kind: party.kind, namespace: party.namespace, name: party.name };
    const message = `${describeSeenElsewhere(parseMac(mac) as Mac, { node, station })}.`;
    return { code: "SEEN_ELSEWHERE", mac, ...(owner && { owner }), message, advice: SEEN_ELSEWHERE_ADVICE };
  });
  return [...(parties.length > 1 ? [shared] : []), ...elsewhere];
}

export function stationFindings({ name: pool, ranges }: PoolView): Finding[] {
  return ranges.flatMap(({ first, last, stations }): Finding[] => {
    if (stations === undefined || stations.count < MANY_STATIONS) return [];
    const message = `${first}-${last}: ${describeStations(stations)}`;
    return [{ code: "STATIONS_IN_RANGE", pool, message, advice: STATIONS_ADVICE }];
  });
}

export function findingOf({ name: pool, problem = "", capacity, free }: PoolView): Finding[] {
  if (problem !== "") return [{ code: "POOL_INVALID", pool, message: problem, advice: "Correct the MACPool." }];
  if (capacity === 0 || free > 0) return [];
  const message = `None of its ${capacity.toLocaleString("en-US")} addresses is free.`;
  const advice = "Add a range to the pool, or delete objects that are no longer needed.";
  return [{ code: "POOL_FULL", pool, message, advice }];
}

/** What the manager has counted, where none of these addresses is found. */
export function countedFindings(pool: PoolView, found: readonly Finding[]): Finding[] {
  const { name, conflicts, hostConflicts = 0, hostAddressPolicy } = pool;
  const isFound = (wanted: Finding["code"]): boolean =>
    found.some(({ code, mac }) => code === wanted && poolWith([pool], parseMac(mac ?? "") ?? NO_MAC) !== undefined);
  const shared = conflicts === 1 ? "1 address has" : `${conflicts} addresses have`;
  const ofNodes = hostConflicts === 1 ? "1 address of an object is" : `${hostConflicts} addresses of objects are`;
  return [
    ...(conflicts === 0 || isFound("SHARED_ADDRESS")
      ? []
      : [{ code: "SHARED_ADDRESS" as const, pool: name, message: `${shared} several owners.`, advice: SHARED_ADVICE }]),
    ...(hostConflicts === 0 || hostAddressPolicy === "Off" || isFound("HOST_CONFLICT")
      ? []
      : [
          {
            code: "HOST_CONFLICT" as const,
            pool: name,
            message: `${ofNodes} also of a node.`,
            advice: HOST_CONFLICT_ADVICE,
          },
        ]),
  ];
}
