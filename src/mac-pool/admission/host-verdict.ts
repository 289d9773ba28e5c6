import type { HostInterface } from "../../api/host-interfaces.ts";
import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, isNamesake } from "../../api/mac-claim.ts";
import { DEFAULT_HOST_ADDRESS_POLICY } from "../../api/mac-pool.ts";
import { hostAddress, hostAddressWarning } from "../claims/host-refusals.ts";
import type { NamedText } from "../claims/named-text.ts";
import type { InterfaceOwner, ObservedOwner } from "../claims/owner.ts";
import type { Refusal } from "../claims/refusals.ts";
import type { ClaimRequest } from "./claim-request.ts";

export type HostVerdict =
  | { readonly ok: true; readonly warning?: NamedText }
  | { readonly ok: false; readonly refusal: Refusal };

/** Who is known to have the address. */
export interface Known {
  readonly owners: readonly ClaimOwner[];
  readonly objectsListing: readonly ObservedOwner[];
}

/**
 * Whether an object may ask for an address that nodes have. One that has it already keeps it, and so does what arrives by
 * live migration: a node can't take an address away by reporting it. Having waited for a migration is not having it.
 */
export function judgeHosts(
  { pool, field }: Pick<ClaimRequest, "pool" | "field">,
  mac: Mac,
  requester: InterfaceOwner,
  hosts: readonly HostInterface[],
  known: Known,
): HostVerdict {
  const policy = pool?.settings.hostAddressPolicy ?? DEFAULT_HOST_ADDRESS_POLICY;
  if (hosts.length === 0 || policy === "Off") return NOTHING_TO_SAY;
  if (policy === "Warn") return { ok: true, warning: hostAddressWarning(mac, requester, hosts, field) };
  if (requester.receiver || hasAlready(requester, known)) return NOTHING_TO_SAY;
  return { ok: false, refusal: hostAddress(mac, requester, hosts, field) };
}

const NOTHING_TO_SAY: HostVerdict = { ok: true };

function hasAlready(requester: InterfaceOwner, { owners, objectsListing }: Known): boolean {
  return (
    owners.some((owner) => isNamesake(owner, requester) && !owner.receiver) ||
    objectsListing.some((observed) => isNamesake(observed, requester) && observed.receiver === false)
  );
}
