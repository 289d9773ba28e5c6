import type { KubeObject } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { keyOf } from "../support/object-store.ts";
import type { Random } from "../support/random.ts";
import type { Holding } from "./audit.ts";
import { NETWORK_NAMES } from "./layer2.ts";
import { type HolderKind, macsHeld, type Nic, nic } from "./objects.ts";
import { MANAGED, UNMANAGED } from "./tenancy.ts";
import type { World } from "./world.ts";

/** What users choose when they do something: the object, its namespace and name, the addresses that it asks for. */

/** Few names, so that objects meet: the same is deleted and created again, and asked for the same addresses. */
export const NAMES = ["a", "b", "c", "d", "e", "f"];

export function namespaceFor(random: Random): string {
  return random.chance(0.08) ? UNMANAGED : random.pick(MANAGED);
}

export function nicsFor(world: World, random: Random, namespace: string): Nic[] {
  const count = random.chance(0.6) ? 1 : 1 + random.below(3);
  const macs = new Set<string | undefined>();
  return Array.from({ length: count }, (_, index) => {
    const asked = macFor(world, random);
    const mac = namespace === UNMANAGED && random.chance(0.7) ? undefined : asked;
    const free = mac === undefined || !macs.has(mac);
    macs.add(mac);
    return nic(`n${index}`, free ? mac : undefined, networkFor(world, random));
  });
}

/** Where no pool tells networks apart, each interface has one of its own. */
export function networkFor({ plan }: World, random: Random): string | undefined {
  return plan.perNetwork.length === 0 || random.chance(0.1) ? undefined : random.pick(NETWORK_NAMES);
}

/** Mostly none; else one that somebody has, or any in or a little beyond the range. */
export function macFor(world: World, random: Random): string | undefined {
  const [kind, held, any] = [random.next(), random.next(), random.below(world.tenancy.addressCount)];
  if (kind < (world.plan.exclusive || world.plan.perNetwork.length > 0 ? 0.6 : 0.75)) return undefined;
  const macs = world.auditor.heldMacs();
  return kind < 0.88 && macs.length > 0 ? macs[Math.floor(held * macs.length)] : world.tenancy.mac(any);
}

/** VMs that have an address together with this one. */
export function sharersOf({ auditor }: World, vm: KubeObject): string[] {
  const ids = macsHeld(vm).flatMap((mac) => auditor.holdersOf(mac).map(({ id }) => id));
  const [kind, own] = ["VirtualMachine ", keyOf(vm.metadata)];
  return [...new Set(ids)].flatMap((id) => (id.startsWith(kind) && id !== kind + own ? [id.slice(kind.length)] : []));
}

/** Where only one of them may run, VMs that share an address with anything are started more often than others. */
export function anySharer({ etcd, auditor }: World, random: Random): KubeObject | undefined {
  const shares = (vm: KubeObject): boolean => {
    const { namespace, name } = vm.metadata;
    const isOther = ({ party }: Holding): boolean => party.namespace !== namespace || party.name !== name;
    return macsHeld(vm).some((mac) => auditor.holdersOf(mac).some(isOther));
  };
  const sharers = etcd.list(KINDS.virtualMachines.plural).filter(shares);
  return sharers.length > 0 && random.chance(0.7) ? random.pick(sharers) : undefined;
}

export function anyOf(world: World, kind: HolderKind, random: Random): KubeObject | undefined {
  const plural = { VirtualMachine: KINDS.virtualMachines, VirtualMachineInstance: KINDS.instances, Pod: KINDS.pods };
  const all = world.etcd.list(plural[kind].plural);
  return all[random.below(Math.max(1, all.length))];
}
