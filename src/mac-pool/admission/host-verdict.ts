import type { HostInterface } from "../../api/host-interfaces.ts";
import type { Mac } from "../../api/mac.ts";
import { DEFAULT_HOST_ADDRESS_POLICY } from "../../api/mac-pool.ts";
import { hostAddress, hostAddressWarning } from "../claims/host-refusals.ts";
import type { NamedText } from "../claims/named-text.ts";
import type { InterfaceOwner } from "../claims/owner.ts";
import type { Refusal } from "../claims/refusals.ts";
import type { ClaimRequest } from "./claim-request.ts";
import { hasInOwnRight, type Known } from "./known-owners.ts";

export type HostVerdict =
  | { readonly ok: true; readonly warning?: NamedText }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Whether an object may ask for an address that nodes have. A node can't take an address away by reporting it, and what arrives by
 * live migration brings its address along.
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
  if (requester.receiver === true || hasInOwnRight(requester, known)) return NOTHING_TO_SAY;
  return { ok: false, refusal: hostAddress(mac, requester, hosts, field) };
}

const NOTHING_TO_SAY: HostVerdict = { ok: true };
