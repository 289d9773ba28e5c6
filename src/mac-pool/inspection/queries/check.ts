import { describeUnusable, formatMac, type Mac, POD_BRIDGE_MAC } from "../../../api/mac.ts";
import { type ClaimOwner, distinctOwners } from "../../../api/mac-claim.ts";
import { DEFAULT_CONFLICT_POLICY } from "../../../api/mac-pool.ts";
import type { Clock } from "../../../kube/clock.ts";
import { judgeHosts } from "../../admission/host-verdict.ts";
import { newClaim, statusOf } from "../../claims/claim.ts";
import { decideGrant, type GrantDecision } from "../../claims/grant.ts";
import { UNCLAIMED, withObjectsListing } from "../../claims/listing-objects.ts";
import { describeOwners, SOMEBODY } from "../../claims/named-text.ts";
import { describeObject, type InterfaceOwner } from "../../claims/owner.ts";
import { namespaceLimit } from "../../claims/refusals.ts";
import type { Caches } from "../../cluster/caches.ts";
import type { CheckView } from "../rest/views.ts";
import { type ClaimQueries, rangeOf } from "./claims.ts";
import type { NamespaceQueries } from "./namespaces.ts";
import { hostAddressIn, type Scope, seen, sees } from "./scope.ts";

/** The name of the VM that asks; no object has it, since a name has no star. */
const ANYBODY: Pick<InterfaceOwner, "kind" | "generateName" | "interface"> = {
  kind: "VirtualMachine",
  generateName: "*",
  interface: "*",
};

/** Whether a VM that asks for an address is admitted: the decision of the webhook, as far as the caches know. */
export class CheckQuery {
  readonly #caches: Caches;
  readonly #claims: ClaimQueries;
  readonly #namespaces: NamespaceQueries;
  readonly #clock: Clock;

  constructor(caches: Caches, claims: ClaimQueries, namespaces: NamespaceQueries, clock: Clock) {
    this.#caches = caches;
    this.#claims = claims;
    this.#namespaces = namespaces;
    this.#clock = clock;
  }

  check(mac: Mac, namespace: string, scope: Scope): CheckView {
    const served = this.#namespaces.get(namespace);
    const owners = this.#ownersOf(mac);
    const { visible, elsewhere } = seen(scope, owners);
    const view = {
      mac: formatMac(mac),
      namespace,
      ...(served?.pool === undefined ? {} : { pool: served.pool }),
      inRange: rangeOf(mac, this.#caches) !== undefined,
      holders: visible.map((owner) => this.#claims.ownerView(owner)),
      elsewhere,
      ...hostAddressIn(scope, this.#caches.index.hosts.at(mac)),
    };
    const refused = (code: string, message: string): CheckView => ({ ...view, accepted: false, code, message });
    if (served === undefined) {
      return refused("MACPOOL_NO_NAMESPACE", `Namespace ${namespace} does not exist: create it first.`);
    }
    const unusable = describeUnusable(mac);
    if (unusable !== undefined) return refused("MACPOOL_INVALID_MAC", `${unusable}: choose a unicast address.`);
    if (!served.vms) {
      const message = `The pool does not manage the VMs of namespace ${namespace} (${served.because.vms}): it admits any address there.`;
      return { ...view, accepted: true, message };
    }
    if (served.limit !== undefined && served.pool !== undefined && served.claims >= served.limit) {
      const numbers = { has: served.claims, asked: 1, most: served.limit };
      return refused("MACPOOL_NAMESPACE_LIMIT", namespaceLimit(namespace, served.pool, numbers).message);
    }
    const hosts = this.#hostsAt(mac, namespace, scope);
    if (hosts?.isRefused) return refused("MACPOOL_HOST_ADDRESS", hosts.message);
    const decision = this.#decide(mac, namespace);
    const named = describeOwners(owners, (owner) => (sees(scope, owner) ? describeObject(owner) : SOMEBODY));
    if (!decision.ok) return refused(decision.refusal.code, conflictText(view.mac, named, decision.refusal.code));
    const message = hosts?.message ?? acceptedText(decision, view, named);
    return { ...view, accepted: true, message };
  }

  /** What the pool says about an address that a node has; undefined where it says nothing. */
  #hostsAt(
    mac: Mac,
    namespace: string,
    scope: Scope,
  ): { readonly isRefused: boolean; readonly message: string } | undefined {
    const { index } = this.#caches;
    const pool = index.poolFor(this.#caches.labelsOf(namespace));
    const hosts = index.hosts.at(mac);
    const holder = { ...ANYBODY, namespace };
    const verdict = judgeHosts({ pool, field: "macAddress" }, mac, holder, hosts, { owners: [], objectsListing: [] });
    const named = `${formatMac(mac)} is the address of ${hostAddressIn(scope, hosts).hostAddress}`;
    if (!verdict.ok) return { isRefused: true, message: `${named}: choose one that no node has.` };
    if (verdict.warning === undefined) return undefined;
    return { isRefused: false, message: `${named}. It is admitted with a warning: they disturb each other.` };
  }

  #decide(mac: Mac, namespace: string): GrantDecision {
    const { index, policyIn, objectsListing, networks } = this.#caches;
    const pool = index.poolFor(this.#caches.labelsOf(namespace));
    const claim = this.#claims.get(mac) ?? newClaim(mac, { pool: pool?.name, origin: "explicit" }, UNCLAIMED);
    const request = {
      mac,
      holder: { ...ANYBODY, namespace },
      policy: pool?.settings.conflictPolicy ?? DEFAULT_CONFLICT_POLICY,
      policyIn,
      field: "macAddress",
      pendingMs: index.pendingMs,
      objectsListing: objectsListing(mac),
      had: false,
      isAwaited: this.#caches.isAwaited(claim),
      // Which network the VM will be on is not known: it may meet any other.
      ...(networks.scopeIn(namespace) === "Network" ? { domainsOf: () => undefined } : {}),
    } as const;
    return decideGrant(claim, request, this.#clock.now());
  }

  #ownersOf(mac: Mac): readonly ClaimOwner[] {
    const claim = this.#claims.get(mac);
    const known = claim === undefined ? UNCLAIMED : statusOf(claim);
    const status = withObjectsListing(known, this.#caches.objectsListing(mac), this.#clock.now());
    return status.phase === "Quarantined" ? [] : distinctOwners(status.owners);
  }
}

function conflictText(mac: string, named: string, code: string): string {
  if (code === "MACPOOL_SHARED_TOO_OFTEN")
    return `${mac} has as many owners as an address can have: choose another one.`;
  return `${mac} is in use by ${named}. Leave the address out to get a free one, or take it from its owner first.`;
}

function acceptedText(
  { ok, ...decision }: GrantDecision & { readonly ok: true },
  { mac, inRange }: Pick<CheckView, "mac" | "inRange">,
  named: string,
): string {
  if (decision.warning !== undefined) return `${mac} is admitted with a warning: it is also in use by ${named}.`;
  const where = inRange ? "in the range of a pool" : "outside of all pools, which keep it for its owner all the same";
  const reserved =
    " KubeVirt gives it to the bridge in the pod of a VM, and refuses it for an interface with masquerade.";
  return `${mac} is free and ${where}.${mac === formatMac(POD_BRIDGE_MAC) ? reserved : ""}`;
}
