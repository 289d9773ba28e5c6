import type { ClaimOwner, MACClaim } from "../api/mac-claim.ts";
import type { MACPool } from "../api/mac-pool.ts";
import type { Place } from "./cluster.ts";
import { formatFields } from "./table.ts";
import { localTime, spanInWords } from "./time-text.ts";

/** One claim in words. */

export interface ClaimContext {
  readonly pools: readonly MACPool[];
  /** By position of the owner. */
  readonly places: readonly (Place | undefined)[];
  readonly nowMs: number;
}

export function ownersOf(claim: MACClaim): readonly ClaimOwner[] {
  return claim.status?.owners ?? [];
}

/** `VirtualMachine default/web`. */
export function describeOwner(owner: ClaimOwner): string {
  return `${owner.kind} ${owner.namespace}/${ownerName(owner)}`;
}

/** The name, or `web-*` until the API server has completed it. */
export function ownerName(owner: ClaimOwner): string {
  return owner.name ?? `${owner.generateName ?? ""}*`;
}

export function describeClaim(claim: MACClaim, context: ClaimContext): string {
  const { mac } = claim.spec;
  const owners = ownersOf(claim);
  const until = Date.parse(claim.status?.until ?? "");
  if (claim.status?.phase === "Quarantined") {
    const end = `${localTime(until)} (${spanInWords(until - context.nowMs)})`;
    return `${mac} has no owner and is in quarantine until ${end}\n${formatFields([["origin", origin(claim, context.pools)]])}`;
  }
  const verb = claim.status?.phase === "Pending" ? "is reserved for" : "is held by";
  const held = `${mac} ${verb} ${owners.map(describeOwner).join(" and ") || "no owner"}\n`;
  return held + owners.map((owner, index) => formatFields(ownerFields(claim, owner, context, index))).join("\n");
}

function ownerFields(claim: MACClaim, owner: ClaimOwner, context: ClaimContext, index: number): [string, string][] {
  const place = context.places[index];
  const sinceMs = Date.parse(owner.since);
  const several = ownersOf(claim).length > 1 ? [["owner", describeOwner(owner)] as [string, string]] : [];
  return [
    ...several,
    ["interface", owner.interface + networkText(owner)],
    ["origin", origin(claim, context.pools)],
    ["since", `${localTime(sinceMs)} (${spanInWords(context.nowMs - sinceMs)})`],
    ["running on", place === undefined ? "not running" : `${place.node}, pod ${place.pod}`],
  ];
}

function networkText({ network, domains = [] }: ClaimOwner): string {
  return network === undefined ? "" : ` (${[network, ...domains].join(", ")})`;
}

function origin(claim: MACClaim, pools: readonly MACPool[]): string {
  const pool = pools.find(({ metadata }) => metadata.name === claim.spec.pool);
  const ranges = pool?.status?.ranges?.join(", ");
  const from = { automatic: "automatic, from", explicit: "explicit, in", observed: "observed, in" }[claim.spec.origin];
  if (claim.spec.pool === undefined) return `${claim.spec.origin}, in no pool`;
  return `${from} pool ${claim.spec.pool}${ranges === undefined ? "" : ` (${ranges})`}`;
}
