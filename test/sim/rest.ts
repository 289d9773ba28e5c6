import { parseMac } from "../../src/api/mac.ts";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { claimKey, describe, isOwner } from "./audit.ts";
import { nicsOf } from "./objects.ts";
import type { World } from "./world.ts";

/**
 * What is not as it has to be once nothing happens any more: a claim that nobody explains, an owner that does not live,
 * an address that is held and has no claim, a status that does not add up. Undefined when all is well.
 */
export function unrest(world: World): string | undefined {
  const { etcd, auditor } = world;
  const claims = etcd.list(KINDS.claims.plural) as unknown as MACClaim[];
  for (const claim of claims) {
    const { mac } = claim.spec;
    if (claim.status?.phase !== "Bound") return `${mac} is not in use, and ${describe(claim)}`;
    if (claim.status.deadline !== undefined) return `${mac} still waits for somebody, and ${describe(claim)}`;
    const holders = auditor.holdersOf(mac);
    const idle = claim.status.owners.find((owner) => !holders.some(({ party }) => isOwner(owner, party)));
    if (idle !== undefined) return `${mac} is not held by ${idle.kind} ${idle.name}, and ${describe(claim)}`;
  }
  for (const mac of auditor.heldMacs()) {
    const claim = etcd.get(KINDS.claims.plural, claimKey(mac)) as unknown as MACClaim | undefined;
    for (const { party, managed } of auditor.holdersOf(mac)) {
      if (!managed && !inPool(world, mac)) continue;
      const named = (claim?.status?.owners ?? []).filter((owner) => isOwner(owner, party));
      if (named.length === 0)
        return `${mac} is held by ${party.kind} ${party.namespace}/${party.name}, and ${describe(claim)}`;
      if (party.kind !== "VirtualMachine") continue;
      const vm = etcd.get(KINDS.virtualMachines.plural, `${party.namespace}/${party.name}`);
      const lists = vm !== undefined && nicsOf(vm).some(({ macAddress }) => macAddress === mac);
      if (lists && !named.some(({ uid }) => uid === vm.metadata.uid)) {
        return `${mac} is held by the VM with UID ${vm.metadata.uid}, and ${describe(claim)}`;
      }
    }
  }
  return wrongStatus(world, claims);
}

function inPool(world: World, mac: string): boolean {
  const pool = etcdPool(world);
  const range = pool?.spec.ranges[0];
  const number = parseMac(mac) ?? 0;
  return range !== undefined && number >= (parseMac(range.start) ?? 0) && number <= (parseMac(range.end) ?? 0);
}

function wrongStatus(world: World, claims: readonly MACClaim[]): string | undefined {
  const pool = etcdPool(world);
  if (pool === undefined) return "there is no pool";
  const used = claims.filter(({ spec }) => inPool(world, spec.mac)).length;
  const status = pool.status;
  if (status?.used === used && status.free === (status.capacity ?? 0) - used) return undefined;
  return `the pool's status says ${status?.used} used and ${status?.free} free, and ${used} are in use`;
}

function etcdPool(world: World): MACPool | undefined {
  return world.etcd.get(KINDS.pools.plural, "default") as unknown as MACPool | undefined;
}
