import type { KubeObject } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { keyOf } from "../support/object-store.ts";
import type { Random } from "../support/random.ts";
import { anyOf } from "./choices.ts";
import { isOptedOut, isReceiver, machine, macsHeld, type Nic, nic, nicsOf, withNics, withStrategy } from "./objects.ts";
import { refOf } from "./virt-controller.ts";
import type { World } from "./world.ts";

/** What users do in several steps, and what meets something else that is under way. */

/** The same again under the same name: without addresses, or with those it had. */
export function again(world: World, random: Random, vm: KubeObject): void {
  const { namespace = "", name } = vm.metadata;
  const keeps = random.chance(0.5);
  const nics = nicsOf(vm).map((old) => (keeps ? old : nic(old.name, undefined, old.network)));
  const copy = machine({ namespace, name }, nics, false);
  const submit = (): void => world.submit({ kind: "VirtualMachine", namespace, build: () => copy });
  world.scheduler.after(random.chance(0.7) ? random.between(0, 500) : random.between(0, 90_000), submit);
}

/** A VM goes before anybody has looked at it, and may be created again with the addresses that it had. */
export function comeAndGo(world: World, random: Random, vm: KubeObject): void {
  const { namespace = "" } = vm.metadata;
  const comesBack = random.chance(0.6);
  const [goesMs, backMs] = [random.between(0, 20), random.between(0, 300)];
  const onCreated = (created: KubeObject): void => {
    const key = keyOf(created.metadata);
    const back = machine({ namespace, name: created.metadata.name }, nicsOf(created), false);
    world.scheduler.after(goesMs, () => {
      if (world.etcd.get(KINDS.virtualMachines.plural, key)?.metadata.uid !== created.metadata.uid) return;
      world.etcd.remove(KINDS.virtualMachines, refOf(key));
      if (!comesBack) return;
      const again = { kind: "VirtualMachine", namespace, build: () => back, isSlow: random.chance(0.5) } as const;
      world.scheduler.after(backMs, () => world.submit(again));
    });
  };
  world.submit({ kind: "VirtualMachine", namespace, build: () => vm, onCreated });
}

/** A VM starts while a change is on the way that gives it an address which another runs with. */
export function plugWhileItStarts(world: World, random: Random): void {
  const [vm, running] = [anyOf(world, "VirtualMachine", random), anyOf(world, "VirtualMachineInstance", random)];
  if (vm === undefined || running === undefined) return;
  const [key, [mac]] = [keyOf(vm.metadata), macsHeld(running)];
  if (mac === undefined || macsHeld(vm).includes(mac)) return;
  const { namespace = "" } = vm.metadata;
  const build = (old: KubeObject | undefined): KubeObject | undefined => {
    if (old === undefined || macsHeld(old).includes(mac)) return undefined;
    return withNics(old, [...nicsOf(old).filter(({ name }) => name !== "plugged"), nic("plugged", mac)]);
  };
  world.submit({ kind: "VirtualMachine", namespace, update: key, build, isSlow: true });
  world.scheduler.after(random.between(50, 500), () => world.virt.start(key));
}

/** A VM begins to wait for a migration, or waits no longer: it was cancelled, or somebody has changed their mind. */
export function flipStrategy(world: World, random: Random): void {
  const machines = world.etcd.list(KINDS.virtualMachines.plural);
  if (machines.length === 0) return;
  const waiting = machines.filter(isReceiver);
  const vm = random.pick(waiting.length > 0 && random.chance(0.7) ? waiting : machines);
  const { namespace = "" } = vm.metadata;
  world.submit({
    kind: "VirtualMachine",
    namespace,
    update: keyOf(vm.metadata),
    build: (old) => old && withStrategy(old, isReceiver(old) ? "Manual" : "WaitAsReceiver"),
  });
}

/** A VM gives up an address and takes it back while its instance lets go of it. */
export function takeBack(world: World, random: Random): void {
  const vmi = anyOf(world, "VirtualMachineInstance", random);
  const vm = vmi && world.etcd.get(KINDS.virtualMachines.plural, keyOf(vmi.metadata));
  const [mac] = vm === undefined ? [] : macsHeld(vm);
  if (vm === undefined || mac === undefined) return;
  const { namespace = "" } = vm.metadata;
  const [key, kind] = [keyOf(vm.metadata), "VirtualMachine" as const];
  const without = (old: KubeObject): readonly Nic[] => nicsOf(old).filter(({ macAddress }) => macAddress !== mac);
  const change = (nics: (old: KubeObject) => readonly Nic[], isSlow: boolean): void =>
    world.submit({ kind, namespace, update: key, isSlow, build: (old) => old && withNics(old, nics(old)) });
  change(without, false);
  world.scheduler.after(random.between(5, 500), () => change((old) => [...without(old), nic("back", mac)], true));
  world.scheduler.after(random.between(5, 5_000), () => world.virt.stop(key));
}

/** The same comes without the pool's knowledge, and goes, while the one that was admitted is still under way. */
export function overtake(world: World, random: Random, twin: KubeObject): void {
  const { kind, namespace = "", name } = { kind: "VirtualMachine" as const, ...twin.metadata };
  const [comesMs, goesMs] = [random.between(0, 5_000), random.between(5_000, 15_000)];
  world.scheduler.after(comesMs, () => world.submit({ kind, namespace, build: () => twin }));
  world.scheduler.after(goesMs, () => {
    const found = world.etcd.get(KINDS.virtualMachines.plural, keyOf({ namespace, name }));
    if (found !== undefined && isOptedOut(found))
      world.etcd.remove(KINDS.virtualMachines, { namespace, name: name ?? "" });
  });
}
