import { type NetworkUse, networkUseOfInstance, networkUseOfPod } from "../objects/network-use.ts";
import type { Caches } from "./caches.ts";

/** What uses one NetworkAttachmentDefinition, by namespace. */
export interface NetworkUsers {
  /** Namespace -> node -> running VMs. */
  readonly running: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Namespace -> names of VMs that wait for a node. */
  readonly waiting: ReadonlyMap<string, ReadonlySet<string>>;
  /** Namespace -> pods that belong to no VM. */
  readonly pods: ReadonlyMap<string, number>;
}

interface Counted {
  readonly running: Map<string, Map<string, number>>;
  readonly waiting: Map<string, Set<string>>;
  readonly pods: Map<string, number>;
}

const NOBODY: NetworkUsers = { running: new Map(), waiting: new Map(), pods: new Map() };

/** Who uses which network, so that no question counts all VMs. Follows the caches once somebody has asked. */
export class NetworkCounts {
  readonly #caches: Pick<Caches, "instances" | "pods">;
  readonly #counted = new Map<string, Counted>();
  #follows = false;

  constructor(caches: Pick<Caches, "instances" | "pods">) {
    this.#caches = caches;
  }

  /** Counts what the caches know now, and each change from then on. */
  follow(): void {
    if (this.#follows) return;
    this.#follows = true;
    const { instances, pods } = this.#caches;
    for (const [informer, useOf, count] of [
      [instances, networkUseOfInstance, countInstance],
      [pods, networkUseOfPod, countPod],
    ] as const) {
      const change = (use: NetworkUse, by: 1 | -1): void => {
        for (const nad of use.nads) this.#change(nad, (counted) => count(counted, use, by));
      };
      informer.on({
        add: (object) => change(useOf(object), 1),
        update: (object, old) => {
          const [now, before] = [useOf(object), useOf(old)];
          if (now.node === before.node && now.nads.join() === before.nads.join()) return;
          change(before, -1);
          change(now, 1);
        },
        delete: (object) => change(useOf(object), -1),
      });
    }
  }

  /** `nad`: as namespace/name. */
  of(nad: string): NetworkUsers {
    return this.#counted.get(nad) ?? NOBODY;
  }

  #change(nad: string, count: (counted: Counted) => void): void {
    const counted = this.#counted.get(nad) ?? { running: new Map(), waiting: new Map(), pods: new Map() };
    this.#counted.set(nad, counted);
    count(counted);
    if (counted.running.size + counted.waiting.size + counted.pods.size === 0) this.#counted.delete(nad);
  }
}

function countInstance({ running, waiting }: Counted, { namespace, name, node }: NetworkUse, by: 1 | -1): void {
  if (node === "") {
    const names = waiting.get(namespace) ?? new Set();
    if (by === 1) names.add(name);
    else names.delete(name);
    if (names.size === 0) waiting.delete(namespace);
    else waiting.set(namespace, names);
    return;
  }
  const nodes = running.get(namespace) ?? new Map<string, number>();
  add(nodes, node, by);
  if (nodes.size === 0) running.delete(namespace);
  else running.set(namespace, nodes);
}

function countPod({ pods }: Counted, { namespace }: NetworkUse, by: 1 | -1): void {
  add(pods, namespace, by);
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
