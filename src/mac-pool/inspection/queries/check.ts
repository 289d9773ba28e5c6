import { describeUnusable, formatMac, type Mac, POD_BRIDGE_MAC } from "../../../api/mac.ts";
import { type ClaimOwner, distinctOwners } from "../../../api/mac-claim.ts";
import { DEFAULT_CONFLICT_POLICY } from "../../../api/mac-pool.ts";
import type { Clock } from "../../../kube/clock.ts";
import { judgeHosts } from "../../admission/host-verdict.ts";
import { newClaim, statusOf } from "../../claims/claim.ts";
import { refusalOfExplicit } from "../../claims/explicit-address.ts";
import { decideGrant, type GrantDecision } from "../../claims/grant.ts";
import { namespaceLimit } from "../../claims/limit-refusals.ts";
import { isBeside, NOT_GIVEN, UNCLAIMED, withObjectsListing } from "../../claims/listing-objects.ts";
import { describeOwners, SOMEBODY } from "../../claims/named-text.ts";
import { describeObject, type InterfaceOwner, ownerOf } from "../../claims/owner.ts";
import type { CheckView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { type ClaimQueries, rangeAt } from "./claims.ts";
import { runningBeside } from "./collisions.ts";
import { namespaceView } from "./namespaces.ts";
import { hostAddressIn, type Scope, seen, sees } from "./scope.ts";

/** The name of the VM that asks; no object has it, since a name has no star. */
const ANYBODY: Pick<InterfaceOwner, "kind" | "generateName" | "interface"> = {
  kind: "VirtualMachine",
  generateName: "*",
  interface: "*",
};

interface CheckOptions {
  readonly claims: ClaimQueries;
  readonly catalog: Catalog;
  readonly clock: Clock;
}

/** Whether a VM that asks for an address is admitted: the decision of the webhook, as far as the caches know. */
export function checkAddress(
  mac: Mac,
  namespace: string,
  scope: Scope,
  { claims, catalog, clock }: CheckOptions,
): CheckView {
  const { caches, claims: known } = catalog;
  const { index } = caches;
  const claim = known.get(mac);
  const served = namespaceView(namespace, caches);
  const listing = caches.objectsListing(mac);
  const status = withObjectsListing(claim === undefined ? UNCLAIMED : statusOf(claim), listing, clock.now());
  const owners = status.phase === "Quarantined" ? [] : distinctOwners(status.owners);
  const { visible, elsewhere } = seen(scope, owners);
  const onlyListing = listing.filter(isBeside).map((object) => ownerOf(object, ""));
  const { visible: listedBy } = seen(scope, onlyListing);
  const view = {
    mac: formatMac(mac),
    namespace,
    ...(served?.pool === undefined ? {} : { pool: served.pool }),
    inRange: rangeAt(mac, caches) !== undefined,
    holders: visible.map((owner) => claims.ownerView(owner, scope)),
    elsewhere,
    ...(listedBy.length === 0 ? {} : { listedBy: listedBy.map(listerView) }),
    ...runningBeside(mac, catalog, scope),
    ...hostAddressIn(scope, index.hosts.at(mac)),
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
  const pool = index.poolFor(caches.labelsOf(namespace));
  const requester = { ...ANYBODY, namespace };
  const forbidden = refusalOfExplicit({ mac, namespace, field: "macAddress", pool }, index);
  if (forbidden !== undefined) return refused(forbidden.code, forbidden.message);
  const unheld = { owners: [], objectsListing: [], isStored: false, judgedAnew: false };
  const hosts = judgeHosts({ pool, field: "macAddress" }, mac, requester, index.hosts.at(mac), unheld);
  const onNode = `${view.mac} is the address of ${view.hostAddress}`;
  if (!hosts.ok) return refused("MACPOOL_HOST_ADDRESS", `${onNode}: choose another one.`);
  const asked = claim ?? newClaim(mac, { pool: pool?.name, origin: "explicit" }, UNCLAIMED);
  const request = {
    mac,
    requester,
    policy: pool?.settings.conflictPolicy ?? DEFAULT_CONFLICT_POLICY,
    policyIn: caches.policyIn,
    field: "macAddress",
    pendingMs: index.pendingMs,
    objectsListing: listing,
    had: false,
    isAwaited: caches.isAwaited(asked),
    // The network of the VM is not known, so it may meet any other.
    ...(caches.networks.scopeIn(namespace) === "Network" ? { domainsOf: () => undefined } : {}),
  } as const;
  const decision = decideGrant(asked, request, clock.now());
  const namesOf = (named: readonly ClaimOwner[]): string =>
    describeOwners(named, (owner) => (sees(scope, owner) ? describeObject(owner) : SOMEBODY));
  const [named, beside] = [namesOf(owners), namesOf(onlyListing)];
  if (!decision.ok) {
    const isOwn = visible.some((owner) => owner.namespace === namespace);
    return refused(decision.refusal.code, conflictText(view.mac, named, isOwn, decision.refusal.code));
  }
  const warning = `${onNode}. It is admitted with a warning: they disturb each other.`;
  return {
    ...view,
    accepted: true,
    message: hosts.warning === undefined ? acceptedText(decision, view, named, beside) : warning,
  };
}

/** What is in the caches has a name. */
const listerView = ({ kind, namespace, name = "", interface: nic, network }: ClaimOwner) => ({
  kind,
  namespace,
  name,
  interface: nic,
  ...(network === undefined ? {} : { network }),
});

/** `isOwn`: whether an owner is in the namespace that was asked about, so that the question may be about that owner itself. */
function conflictText(mac: string, named: string, isOwn: boolean, code: string): string {
  if (code === "MACPOOL_SHARED_TOO_OFTEN")
    return `${mac} has as many owners as an address can have: choose another one.`;
  const kept = isOwn ? ". Its owner keeps it. For another VM, leave the address out" : ". Leave the address out";
  return `${mac} is in use by ${named}${kept} to get one from the pool, or take it from its owner first.`;
}

function acceptedText(
  decision: GrantDecision & { readonly ok: true },
  { mac, inRange }: Pick<CheckView, "mac" | "inRange">,
  named: string,
  beside: string,
): string {
  if (decision.warning !== undefined) return `${mac} is admitted with a warning: it is also in use by ${named}.`;
  if (beside !== "") return `${mac} is admitted with a warning: it is also listed by ${beside}, ${NOT_GIVEN}.`;
  const where = inRange ? "in the range of a pool" : "outside of all pools, which keep it for its owner all the same";
  const reserved =
    " KubeVirt gives it to the bridge in the pod of a VM, and refuses it for an interface with masquerade.";
  return `${mac} is free and ${where}.${mac === formatMac(POD_BRIDGE_MAC) ? reserved : ""}`;
}
