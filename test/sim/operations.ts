import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { keyOf } from "../support/object-store.ts";
import type { Random } from "../support/random.ts";
import { anyOf, anySharer, macFor, NAMES, namespaceFor, nicsFor, sharersOf } from "./choices.ts";
import { NETWORK_NAMES } from "./layer2.ts";
import { CALM } from "./network.ts";
import { inPhase, instance, isOptedOut, machine, type Nic, nic, nicsOf, optedOut, pod, withNics } from "./objects.ts";
import type { Trouble } from "./plan.ts";
import { again, comeAndGo, flipStrategy, overtake, plugWhileItStarts, takeBack } from "./sequences.ts";
import type { Wanted } from "./submission.ts";
import { MANAGED, UNMANAGED } from "./tenancy.ts";
import { refOf } from "./virt-controller.ts";
import type { World } from "./world.ts";

/** What users do, by weight; troubles stand beside. */
const USERS = {
  createMachine: 22,
  updateMachine: 16,
  deleteMachine: 12,
  startMachine: 10,
  stopMachine: 6,
  migrate: 4,
  createPod: 12,
  endPod: 10,
  createInstance: 4,
  deleteInstance: 5,
  dryRun: 2,
} as const;

type Operation = keyof typeof USERS | Trouble;

/** A replica that is stopped for less notices nothing; whoever restores etcd stops all API servers for longer. */
const SHORTEST_RESTORE_MS = 16_000;

/** Who asks for a name that is taken gets addresses and is refused after us, which fills pools for two minutes. */
const MOSTLY = 0.8;

/** Does one thing, chosen and detailed by its own randomness alone, as far as the cluster has what it needs. */
export function operate(world: World, random: Random): void {
  const operation = random.weighted<Operation>({ ...USERS, ...world.plan.trouble });
  world.note(`-- ${operation}`);
  OPERATIONS[isCrowded(world) ? (INSTEAD[operation] ?? operation) : operation](world, random);
}

/** What is created where addresses are scarce is deleted instead, or nothing would happen any more. */
const INSTEAD: Readonly<Partial<Record<Operation, Operation>>> = {
  createMachine: "deleteMachine",
  createPod: "endPod",
  createInstance: "deleteInstance",
};

const isCrowded = ({ auditor, plan, random }: World): boolean =>
  auditor.heldMacs().length > plan.poolSize * 0.8 && random.chance(0.7);

const OPERATIONS: Record<Operation, (world: World, random: Random) => void> = {
  createMachine(world, random) {
    const namespace = namespaceFor(random);
    const named = random.chance(0.15)
      ? { namespace, generateName: `${random.pick(NAMES)}-` }
      : { namespace, name: random.pick(NAMES) };
    const exists = world.etcd.get(KINDS.virtualMachines.plural, keyOf(named)) !== undefined;
    if (exists && random.chance(MOSTLY)) return;
    const bare = machine(named, nicsFor(world, random, namespace), random.chance(0.08));
    const vm = optedOut(bare, random.chance(world.plan.optOut));
    if (random.chance(0.15)) return comeAndGo(world, random, vm);
    const isOvertaken = random.chance(world.plan.optOut) && !isOptedOut(vm);
    world.submit({ kind: "VirtualMachine", namespace, build: () => vm, isSlow: isOvertaken });
    if (random.chance(0.05)) world.submit({ kind: "VirtualMachine", namespace, build: () => vm });
    if (isOvertaken) overtake(world, random, optedOut(bare, true));
  },
  updateMachine(world, random) {
    if (world.plan.exclusive && random.chance(0.4)) plugWhileItStarts(world, random);
    if (random.chance(0.1)) takeBack(world, random);
    if (random.chance(0.2)) flipStrategy(world, random);
    const vm = anyOf(world, "VirtualMachine", random);
    if (vm === undefined) return;
    const namespace = vm.metadata.namespace ?? "";
    const change = random.pick(world.plan.perNetwork.length > 0 ? CHANGES_WITH_MOVES : CHANGES);
    const asked = macFor(world, random);
    const detail = random.below(8);
    const flips = random.chance(world.plan.optOut);
    const wanted: Wanted = {
      kind: "VirtualMachine",
      namespace,
      update: keyOf(vm.metadata),
      build: (old) => {
        if (old === undefined) return undefined;
        const changed = withNics(old, change(nicsOf(old), asked, detail));
        return flips ? optedOut(changed, !isOptedOut(old)) : changed;
      },
    };
    const times = random.chance(0.15) ? 2 + random.below(4) : 1;
    for (let time = 0; time < times; time++) world.submit(wanted);
  },
  deleteMachine(world, random) {
    const vm = anyOf(world, "VirtualMachine", random);
    if (vm === undefined) return;
    const key = keyOf(vm.metadata);
    world.etcd.remove(KINDS.virtualMachines, refOf(key));
    if (!random.chance(0.15)) world.scheduler.after(random.between(1, 3_000), () => world.virt.stop(key));
    if (random.chance(0.4)) again(world, random, vm);
  },
  startMachine(world, random) {
    const vm = (world.plan.exclusive ? anySharer(world, random) : undefined) ?? anyOf(world, "VirtualMachine", random);
    if (vm === undefined) return;
    world.virt.start(keyOf(vm.metadata));
    if (random.chance(world.plan.exclusive ? 0.9 : 0.5)) for (const key of sharersOf(world, vm)) world.virt.start(key);
  },
  stopMachine(world, random) {
    const vmi = anyOf(world, "VirtualMachineInstance", random);
    if (vmi === undefined) return;
    world.virt.stop(keyOf(vmi.metadata));
    const vm = world.etcd.get(KINDS.virtualMachines.plural, keyOf(vmi.metadata));
    if (!world.plan.exclusive || vm === undefined) return;
    const waitMs = random.between(0, 15_000);
    world.scheduler.after(waitMs, () => {
      for (const key of [...sharersOf(world, vm), keyOf(vm.metadata)]) world.virt.start(key);
    });
  },
  migrate(world, random) {
    const vmi = anyOf(world, "VirtualMachineInstance", random);
    if (vmi !== undefined) world.virt.migrate(keyOf(vmi.metadata));
  },
  createPod(world, random) {
    const namespace = namespaceFor(random);
    const prefix = random.pick(NAMES);
    const named = random.chance(0.5) ? { namespace, generateName: `${prefix}-` } : { namespace, name: `pod-${prefix}` };
    const exists = world.etcd.get(KINDS.pods.plural, keyOf(named)) !== undefined;
    if (exists && random.chance(MOSTLY)) return;
    const attachments = nicsFor(world, random, namespace).map(({ name, macAddress, network }) => ({
      name: network ?? name,
      mac: macAddress,
    }));
    const short = random.chance(world.plan.shorthand);
    const made = optedOut(pod(named, attachments, short), random.chance(world.plan.optOut));
    world.submit({ kind: "Pod", namespace, build: () => made });
  },
  endPod(world, random) {
    const found = anyOf(world, "Pod", random);
    if (found === undefined || found.metadata.ownerReferences !== undefined) return;
    const isOver = ["Succeeded", "Failed"].includes((found.status as { phase: string }).phase);
    const phase = random.pick(["Running", "Succeeded", "Failed"]);
    if (!isOver && random.chance(0.4)) world.etcd.update(KINDS.pods, inPhase(found, phase));
    else world.etcd.remove(KINDS.pods, refOf(keyOf(found.metadata)));
  },
  createInstance(world, random) {
    const namespace = namespaceFor(random);
    const vmi = instance({ namespace, name: `vmi-${random.pick(NAMES)}` }, nicsFor(world, random, namespace));
    world.submit({ kind: "VirtualMachineInstance", namespace, build: () => vmi });
  },
  deleteInstance(world, random) {
    const vmi = anyOf(world, "VirtualMachineInstance", random);
    if (vmi !== undefined) world.virt.stop(keyOf(vmi.metadata));
  },
  dryRun(world, random) {
    const namespace = random.pick(MANAGED);
    const vm = machine({ namespace, name: "dry" }, nicsFor(world, random, namespace), false);
    world.submit({ kind: "VirtualMachine", namespace, dryRun: true, build: () => vm });
  },
  kill(world, random) {
    const slot = random.below(world.plan.replicas);
    world.killReplica(slot);
    world.scheduler.after(random.between(1, 20_000), () => world.restart(slot));
  },
  pause(world, random) {
    const replica = random.pick(world.replicas);
    world.faults += 1;
    replica.host.pause();
    const forMs = random.chance(0.2) ? random.between(20_000, 240_000) : random.between(5, 15_000);
    world.scheduler.after(forMs, () => replica.host.resume());
  },
  stop(world, random) {
    const slot = random.below(world.plan.replicas);
    const replica = world.replicas[slot];
    world.faults += 1;
    replica?.stop();
    world.scheduler.after(random.between(500, 18_000), () => {
      if (world.replicas[slot] !== replica) return;
      world.killReplica(slot);
      world.restart(slot);
    });
  },
  partition(world, random) {
    const { name } = random.pick(world.replicas).host;
    world.faults += 1;
    world.network.partitioned.add(name);
    world.scheduler.after(random.between(100, 60_000), () => world.network.partitioned.delete(name));
  },
  cutWatches(world, random) {
    random.pick(world.replicas).cutWatches();
  },
  restartApi(world, random) {
    world.restartApi(random.between(100, 15_000));
  },
  compact(world) {
    world.faults += 1;
    world.etcd.compact();
  },
  restoreEtcd(world, random) {
    world.restoreEtcd(random.between(10, 60_000), random.between(SHORTEST_RESTORE_MS, 60_000));
  },
  weather(world) {
    world.network.weather = world.network.weather === CALM ? world.plan.weather : CALM;
  },
  changeRange(world, random) {
    const name = random.pick(Object.keys(world.plan.pools));
    const size = 1 + random.below(name === "default" ? world.plan.poolSize * 2 : 12);
    const first = name === "default" ? 0 : random.below(world.plan.poolSize + 4);
    const hole = random.chance(0.2) && size > 2 ? random.below(size) : undefined;
    world.tenancy.setPool(name, { first, size, hole });
  },
  changePolicy(world, random) {
    const [name, pool] = random.pick(Object.entries(world.plan.pools));
    world.tenancy.setPool(name, pool.shape, random.pick(["Deny", "Warn", "DenyRunning"]));
  },
  recreatePool(world, random) {
    if (!world.tenancy.removePool(random.pick(Object.keys(world.plan.pools)))) return;
    world.scheduler.after(random.between(1, 20_000), () => world.tenancy.restore());
  },
  changeMode(world, random) {
    world.tenancy.flipMode(random.pick([...MANAGED, UNMANAGED]), random.pick(["VirtualMachine", "Pod"]));
  },
  changeTenant(world, random) {
    world.tenancy.flipTenant(random.pick(MANAGED));
  },
  changeNode(world, random) {
    world.nodes.change(random);
  },
  removeKubevirt(world, random) {
    world.removeKubevirt(random.between(1, 30_000));
  },
};

type Change = (nics: readonly Nic[], asked: string | undefined, detail: number) => readonly Nic[];

const CHANGES: readonly Change[] = [
  (nics, asked, detail) =>
    nics.map((old, index) => (index === detail % nics.length ? nic(old.name, asked, old.network) : old)),
  (nics) => nics.map(({ name, network }) => nic(name, undefined, network)),
  (nics, asked, detail) => [...nics.filter(({ name }) => name !== `n${detail}`), nic(`n${detail}`, asked)],
  (nics, _asked, detail) => nics.filter((_, index) => index !== detail % nics.length),
  (nics, _asked, detail) =>
    nics.map((old, index) => (index === detail % nics.length ? { ...old, state: "absent" } : old)),
  (nics) => nics.map((old, index) => nic(old.name, nics[(index + 1) % nics.length]?.macAddress, old.network)),
];

/** An interface moves to another network. */
const MOVE: Change = (nics, _asked, detail) =>
  nics.map((old, index) =>
    index === detail % nics.length ? { ...old, network: NETWORK_NAMES[detail % NETWORK_NAMES.length] } : old,
  );

const CHANGES_WITH_MOVES: readonly Change[] = [...CHANGES, MOVE, MOVE, MOVE];
