import type { MACClaim } from "../../src/api/mac-claim.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { claimKey, describe, type Holding, isOwner, nameOf } from "./audit.ts";
import { type HolderKind, isOptedOut, RESOURCE_OF } from "./objects.ts";
import { isIn } from "./tenancy.ts";
import type { World } from "./world.ts";

/**
 * What is wrong once nothing happens any more: a claim that no object explains, an owner that does not exist, an address
 * that is held and has no claim, a status that does not add up. Undefined when all is well.
 */
export function unrest(world: World): string | undefined {
  const { etcd, auditor } = world;
  const claims = etcd.list(KINDS.claims.plural) as unknown as MACClaim[];
  for (const claim of claims) {
    const { mac } = claim.spec;
    if (claim.status?.phase !== "Allocated") return `${mac} is not in use, and ${describe(claim)}`;
    const holders = auditor.holdersOf(mac);
    const idle = claim.status.owners.find((owner) => !holders.some(({ party }) => isOwner(owner, party)));
    if (idle !== undefined) return `${mac} is not held by ${idle.kind} ${idle.name}, and ${describe(claim)}`;
    const stranger = holders.find(
      (holding) =>
        holding.party.kind === "Pod" &&
        !auditor.isManaged(holding) &&
        claim.status?.owners.some((owner) => isOwner(owner, holding.party)),
    );
    const isUnreviewed = ({ party }: Holding): boolean =>
      holders.filter((holding) => nameOf(holding.party) === nameOf(party)).every(({ granted }) => !granted.has(mac));
    const taken = holders.find(
      (holding) =>
        isUnreviewed(holding) &&
        isForeign(world, holding.party.namespace, mac) &&
        claim.status?.owners.some((owner) => isOwner(owner, holding.party)),
    );
    if (taken !== undefined) return `${mac} was adopted for ${taken.id}, whose pool forbids it: ${describe(claim)}`;
    if (stranger !== undefined) return `${mac} is owned by ${stranger.id}, which is not managed: ${describe(claim)}`;
  }
  for (const mac of auditor.heldMacs()) {
    const claim = etcd.get(KINDS.claims.plural, claimKey(mac)) as unknown as MACClaim | undefined;
    for (const holding of auditor.holdersOf(mac)) {
      const { party, granted, id } = holding;
      if ((!granted.has(mac) || auditor.isLost(mac, holding)) && !mustBeKnown(world, mac, id, claim)) continue;
      if (!(claim?.status?.owners ?? []).some((owner) => isOwner(owner, party)))
        return `${mac} is held by ${party.kind} ${party.namespace}/${party.name}, and ${describe(claim)}`;
    }
  }
  return wrongStatus(world, claims);
}

/**
 * Of what no webhook has admitted and may have the address: what is managed by now, and VMs and instances that list one of a range
 * which nobody else has. A launcher speaks for its VM.
 */
function mustBeKnown({ etcd, tenancy, plan }: World, mac: string, id: string, claim: MACClaim | undefined): boolean {
  const [kind = "", key = ""] = id.split(" ");
  const object = etcd.get(RESOURCE_OF[kind as HolderKind].plural, key);
  const { namespace = "", ownerReferences } = object?.metadata ?? {};
  if (!tenancy.mayHave(namespace, mac)) return false;
  if (kind !== "Pod" && claim === undefined && tenancy.isInAnyPool(mac)) return true;
  if (object === undefined || (kind === "Pod" && ownerReferences !== undefined)) return false;
  return tenancy.manages(kind as HolderKind, namespace) && !isLeftAlone({ etcd, plan }, id);
}

/** Whether the address has been another pool's all the time, and the pools of the namespace have kept it from its objects. */
function isForeign({ tenancy, plan }: World, namespace: string, mac: string): boolean {
  if (plan.explicitAddresses === "Anywhere" || plan.trouble.recreatePool > 0) return false;
  return tenancy.wasAlwaysInRange(mac) && !tenancy.hasServed(namespace, mac);
}

/** Whether the object opted out, or its VM for it, where that counts. */
export function isLeftAlone({ etcd, plan }: Pick<World, "etcd" | "plan">, id: string): boolean {
  const [kind = "", key = ""] = id.split(" ");
  const vm = kind === "VirtualMachineInstance" ? etcd.get(KINDS.virtualMachines.plural, key) : undefined;
  const objects = [etcd.get(RESOURCE_OF[kind as HolderKind].plural, key), vm];
  return plan.mayOptOut && objects.some((object) => object !== undefined && isOptedOut(object));
}

function wrongStatus({ tenancy, nodes }: World, claims: readonly MACClaim[]): string | undefined {
  for (const pool of tenancy.pools()) {
    const used = claims.filter(({ spec }) => isIn(pool, spec.mac)).length;
    const isClaimed = (mac: string): boolean => claims.some(({ spec }) => spec.mac === mac);
    const kept = [...nodes.reported()].filter((mac) => isIn(pool, mac) && !isClaimed(mac)).length;
    const { status, metadata } = pool;
    if (status?.used === used && status.free === (status.capacity ?? 0) - used - kept) continue;
    const says = `${status?.used} used and ${status?.free} free`;
    return `the status of pool ${metadata.name} says ${says}, and ${used} are in use and ${kept} belong to nodes`;
  }
  return tenancy.pools().length === 0 ? "there is no pool" : undefined;
}
