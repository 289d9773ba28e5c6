import { type Mac, macOfClaimName } from "../../api/mac.ts";
import type { ObjectReference } from "../claims/owner.ts";
import { machineMacs } from "../objects/holders.ts";
import type { Caches } from "./caches.ts";

/** Addresses that an interface of a VM has, or may get by an update that is under way. */
export function givenAddresses(caches: Caches, vm: ObjectReference, interfaceName: string): readonly Mac[] {
  const machine = caches.has(vm) ? caches.machines.get(`${vm.namespace}/${vm.name}`) : undefined;
  const listed = machine === undefined ? [] : machineMacs(machine);
  const updated = caches
    .updatedFor(vm.uid ?? "")
    .filter(({ status }) =>
      status?.owners.some(({ uid, ...owner }) => uid === vm.uid && owner.interface === interfaceName),
    );
  return [
    ...listed.flatMap(({ mac, holder }) => (holder.interface === interfaceName ? [mac] : [])),
    ...updated.flatMap(({ metadata: { name = "" } }) => macOfClaimName(name) ?? []),
  ];
}
