import type { KubeObject } from "../../kube/client/resource.ts";
import { type Handler, objectKey } from "../../kube/informer/informer.ts";
import { type NetworkUse, networkUseOfInstance, networkUseOfPod } from "../objects/network-use.ts";

/** What uses one NetworkAttachmentDefinition, by namespace. */
export interface NetworkUsers {
  /** Namespace -> node -> running VMs. */
  readonly running: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Namespace -> VMs that wait for a node, as far as their VMIs tell: name -> UID of the VMI. */
  readonly waiting: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Namespace -> VMs that do not run yet and wait for something else. */
  readonly starting: ReadonlyMap<string, number>;
  /** Namespace -> pods that belong to no VM. */
  readonly pods: ReadonlyMap<string, number>;
}

interface FollowedCaches {
  readonly instances: Followed;
  readonly pods: Followed;
}

interface Followed {
  on(handler: Handler<KubeObject>): unknown;
}

interface Counted {
  readonly running: Map<string, Map<string, number>>;
  readonly waiting: Map<string, Map<string, string>>;
  readonly starting: Map<string, number>;
  readonly pods: Map<string, number>;
}

const nobody = (): Counted => ({ running: new Map(), waiting: new Map(), starting: new Map(), pods: new Map() });

const NOBODY: NetworkUsers = nobody();

type Count = (counted: Counted, use: NetworkUse, by: 1 | -1) => void;

/** Objects of one kind, and how they count. */
interface Users {
  readonly useOf: (object: KubeObject) => NetworkUse;
  readonly count: Count;
  /** As they were counted: the last state of a deleted object may say otherwise. */
  readonly counted: Map<string, KubeObject>;
  /** Their keys, by network. */
  readonly byNad: Map<string, Set<string>>;
  /** Counted at the next question. */
  readonly uncounted: Map<string, KubeObject>;
}

const nothingCounted = (): Pick<Users, "counted" | "byNad" | "uncounted"> => ({
  counted: new Map(),
  byNad: new Map(),
  uncounted: new Map(),
});

/** Who uses which network, so that no question counts all VMs. Follows the caches once somebody has asked. */
export class NetworkCounts {
  readonly #caches: FollowedCaches;
  readonly #counted = new Map<string, Counted>();
  readonly #users: readonly Users[] = [
    { ...nothingCounted(), useOf: networkUseOfInstance, count: countInstance },
    { ...nothingCounted(), useOf: networkUseOfPod, count: countPod },
  ];
  #follows = false;

  constructor(caches: FollowedCaches) {
    this.#caches = caches;
  }

  follow(): void {
    if (this.#follows) return;
    this.#follows = true;
    const { instances, pods } = this.#caches;
    for (const [index, informer] of [instances, pods].entries()) {
      const users = this.#users[index];
      if (users !== undefined) informer.on(this.#handlerOf(users));
    }
  }

  /** Counts what is new since the last question. */
  async read(turn: { share(): Promise<void> }): Promise<void> {
    for (const users of this.#users) {
      for (const [key, object] of users.uncounted) {
        users.uncounted.delete(key);
        users.counted.set(key, object);
        this.#change(users, key, users.useOf(object), 1);
        await turn.share();
      }
    }
  }

  /** `nad`: as namespace/name. */
  of(nad: string): NetworkUsers {
    return this.#counted.get(nad) ?? NOBODY;
  }

  /** The VMIs that are on a network, and the pods. `nad`: as namespace/name. */
  usersOf(nad: string): { readonly instances: Iterable<KubeObject>; readonly pods: Iterable<KubeObject> } {
    const [instances, pods] = this.#users.map(({ counted, byNad }) =>
      [...(byNad.get(nad) ?? [])].flatMap((key) => counted.get(key) ?? []),
    );
    return { instances: instances ?? [], pods: pods ?? [] };
  }

  #handlerOf(users: Users): Handler<KubeObject> {
    const { useOf, counted, uncounted } = users;
    return {
      add: (object) => {
        uncounted.set(objectKey(object), object);
      },
      update: (object) => {
        const key = objectKey(object);
        const old = counted.get(key);
        if (old === undefined) {
          uncounted.set(key, object);
          return;
        }
        counted.set(key, object);
        const [now, before] = [useOf(object), useOf(old)];
        const isSamePlace = now.node === before.node && now.state === before.state;
        if (isSamePlace && now.nads.join() === before.nads.join()) return;
        this.#change(users, key, before, -1);
        this.#change(users, key, now, 1);
      },
      delete: (object) => {
        const key = objectKey(object);
        uncounted.delete(key);
        const old = counted.get(key);
        if (old === undefined) return;
        counted.delete(key);
        this.#change(users, key, useOf(old), -1);
      },
    };
  }

  #change({ count, byNad }: Users, key: string, use: NetworkUse, by: 1 | -1): void {
    for (const nad of use.nads) {
      if (by === 1) byNad.set(nad, (byNad.get(nad) ?? new Set()).add(key));
      else if (byNad.get(nad)?.delete(key) && byNad.get(nad)?.size === 0) byNad.delete(nad);
      const counted = this.#counted.get(nad) ?? nobody();
      this.#counted.set(nad, counted);
      count(counted, use, by);
      if (Object.values(counted).every(({ size }) => size === 0)) this.#counted.delete(nad);
    }
  }
}

function countInstance({ running, waiting, starting }: Counted, use: NetworkUse, by: 1 | -1): void {
  const { namespace, name, uid, node, state } = use;
  if (state === "waiting") {
    const names = waiting.get(namespace) ?? new Map<string, string>();
    if (by === 1) names.set(name, uid);
    else names.delete(name);
    if (names.size === 0) waiting.delete(namespace);
    else waiting.set(namespace, names);
    return;
  }
  if (state === "starting") {
    add(starting, namespace, by);
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
