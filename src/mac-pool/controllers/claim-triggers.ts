import { claimName, type Mac, macOfClaimName } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import { POD_WEBHOOK, VM_WEBHOOK } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { isSettled } from "../claims/lifecycle.ts";
import type { Caches } from "../cluster/caches.ts";
import { isOptedOut, isReceiver } from "../objects/guest-changes.ts";
import { instanceMacs, type ListedMac, machineMacs, podMacs } from "../objects/listed-macs.ts";
import { attachedMacsOfPod, networkStatusOf } from "../objects/running.ts";
import { onManagementChange } from "./following.ts";

/**
 * Names the claims that a change in the caches is about: claims that changed, and those of addresses in objects that did. A
 * creation is about none: its claim waits for an object, and then the object that the claim names comes.
 */
export class ClaimTriggers {
  readonly #caches: Caches;
  readonly #enqueue: (claim: string) => void;
  readonly #onMany: () => void;

  /** `onMany`: called when objects may have come in that nobody has checked. */
  constructor(caches: Caches, enqueue: (claim: string) => void, onMany: () => void) {
    this.#caches = caches;
    this.#enqueue = enqueue;
    this.#onMany = onMany;
  }

  /** Returns what ends it. */
  start(): (() => void)[] {
    const { claims, pools, machines, instances, pods } = this.#caches;
    const changed = (claim: MACClaim): void => this.#enqueueClaim(claim);
    return [
      claims.on({ add: changed, update: changed, delete: (claim) => this.#enqueue(claim.metadata.name ?? "") }),
      pools.on({
        add: () => this.all(),
        delete: () => this.all(),
        update: (pool, old) => {
          if (pool.metadata.generation !== old.metadata.generation) this.all();
        },
      }),
      this.#follow(machines, machineMacs),
      machines.on({
        update: (machine, old) => this.#enqueueIfInAnotherRole(machine, old),
        delete: (machine) => this.#enqueueInstanceOf(machine),
      }),
      this.#follow(instances, instanceMacs),
      this.#follow(pods, (pod) => podMacs(pod)),
      pods.on({
        update: (pod, old) => this.#enqueueDetached(old, pod),
        delete: (pod) => this.#enqueueDetached(pod, undefined),
      }),
      onManagementChange(this.#caches, (inside) => this.#listed(inside)),
    ];
  }

  /** Claims without an owner as well as owners without a claim. */
  all(): void {
    for (const claim of this.#caches.claims.list()) this.#enqueueClaim(claim);
    this.#listed(() => true);
  }

  /** Claims whose objects have not come in the time that a request may live. */
  overdue(nowMs: number): void {
    const { pending, pendingMs } = this.#caches.index;
    for (const mac of pending.olderThan(pendingMs, nowMs)) this.#enqueue(claimName(mac));
  }

  #enqueueClaim(claim: MACClaim): void {
    const { name = "" } = claim.metadata;
    const mac = macOfClaimName(name);
    if (mac === undefined) return;
    const { index, admissions } = this.#caches;
    // What was admitted may be gone before the claim is known.
    const admission = admissions.of(mac);
    const isGone = admission !== undefined && admissions.hasCome(admission);
    if (isGone || !index.pending.has(mac)) this.#enqueue(name);
  }

  /** Looks at the addresses that an object has gained, lost, or moved; most updates of pods and VMIs change none. */
  #follow(informer: Informer<KubeObject>, macsOf: (object: KubeObject) => readonly ListedMac[]): () => void {
    const enqueue = (macs: Iterable<Mac>): void => {
      for (const mac of macs) this.#enqueue(claimName(mac));
    };
    const listed = (object: KubeObject) =>
      new Map(macsOf(object).map(({ mac, owner }) => [mac, `${owner.interface} ${owner.network ?? ""}`]));
    const isPods = (informer as unknown) === this.#caches.pods;
    return informer.on({
      // Of a pod only a live read tells that it is what its claim was made for.
      add: (object) => enqueue([...listed(object).keys()].filter((mac) => isPods || !this.#isSettled(mac))),
      update: (object, old) => {
        const [now, before] = [listed(object), listed(old)];
        const other = object.metadata.uid !== old.metadata.uid || optOut(object) !== optOut(old);
        const isElsewhere = ([mac, place]: readonly [Mac, string]): boolean => other || before.get(mac) !== place;
        enqueue([...now].filter(isElsewhere).map(([mac]) => mac));
        enqueue([...before.keys()].filter((mac) => other || !now.has(mac)));
      },
      delete: (object) => enqueue(listed(object).keys()),
    });
  }

  /** Whether the address has a claim that names whoever lists it, and nobody else. */
  #isSettled(mac: Mac): boolean {
    const claim = this.#caches.claims.get(claimName(mac));
    return claim !== undefined && isSettled(claim, this.#caches.claimants(mac), false);
  }

  /** Claims tell which of their owners wait for a migration; a VM that opts out no longer is managed. */
  #enqueueIfInAnotherRole(machine: KubeObject, old: KubeObject): void {
    if (isReceiver(machine) === isReceiver(old) && isOptedOut(machine) === isOptedOut(old)) return;
    for (const { mac } of machineMacs(machine)) this.#enqueue(claimName(mac));
  }

  /** What a pod asked for no more waits until multus has taken it back. */
  #enqueueDetached(before: KubeObject, after: KubeObject | undefined): void {
    if (networkStatusOf(before) === networkStatusOf(after)) return;
    const attached = new Set(after && attachedMacsOfPod(after));
    for (const mac of attachedMacsOfPod(before)) if (!attached.has(mac)) this.#enqueue(claimName(mac));
  }

  /** A VM that opted out spoke for its instance, which is managed by itself once it is alone. */
  #enqueueInstanceOf({ metadata: { namespace = "", name = "" } }: KubeObject): void {
    const instance = this.#caches.instances.get(`${namespace}/${name}`);
    for (const { mac } of instance === undefined ? [] : instanceMacs(instance)) this.#enqueue(claimName(mac));
  }

  #listed(inside: (object: KubeObject) => boolean): void {
    const { machines, instances, pods } = this.#caches;
    const listed = [
      ...machines.list().filter(inside).flatMap(machineMacs),
      ...instances.list().filter(inside).flatMap(instanceMacs),
      ...pods
        .list()
        .filter(inside)
        .flatMap((pod) => podMacs(pod)),
    ];
    for (const { mac } of listed) this.#enqueue(claimName(mac));
    this.#onMany();
  }
}

/** What opts out by a label of its own is managed no more. */
const optOut = ({ metadata: { labels } }: KubeObject): string => `${labels?.[POD_WEBHOOK]} ${labels?.[VM_WEBHOOK]}`;
