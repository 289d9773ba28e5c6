import type { Mac } from "../../api/mac.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Party } from "../core/party.ts";
import type { ListedMac } from "../objects/holders.ts";

/**
 * Of objects of one kind, each of 1 kB at most: names and a UID. The claim of an object that is forgotten and gone waits until
 * its deadline.
 */
const MAX_ADDRESSES = 20_000;

/** An object that was created a short while ago, as it was then. */
interface Creation {
  readonly party: Party;
  readonly macs: readonly Mac[];
  readonly resourceVersion: string | undefined;
  readonly seenMs: number;
}

export interface CreationsOptions {
  readonly clock: Clock;
  /** How long a creation is remembered: as long as a claim waits for it. */
  readonly keptMs: () => number;
  /** Addresses that an object lists. */
  readonly macsOf: (object: KubeObject) => readonly ListedMac[];
  /** Whether the object, as it was created, went through the webhook. */
  readonly isManaged: (object: KubeObject) => boolean;
}

/**
 * Which objects of one kind were created with an address a short while ago, as the watch has told. One that is gone before
 * anybody has looked was there all the same, and what was admitted to be created has been.
 */
export class Creations {
  readonly #options: CreationsOptions;
  /** By UID, oldest first. */
  readonly #creations = new Map<string, Creation>();
  readonly #uids = new Map<Mac, Set<string>>();
  #addresses = 0;

  constructor(informer: Informer<KubeObject>, options: CreationsOptions) {
    this.#options = options;
    informer.on({
      listed: () => this.forget(),
      add: (object, { created }) => {
        if (created && options.isManaged(object)) this.#note(object);
      },
    });
  }

  /** What the watch told may be of a history that etcd has lost. */
  forget(): void {
    this.#creations.clear();
    this.#uids.clear();
    this.#addresses = 0;
  }

  /** Whether the object was created through the webhook a short while ago. */
  has(uid: string): boolean {
    return this.#creations.has(uid);
  }

  /** Those with the address that were created after a version, in the API server's order. */
  after(version: { readonly resourceVersion?: string | undefined }, mac: Mac): readonly Party[] {
    const sinceMs = this.#sinceMs();
    return [...(this.#uids.get(mac) ?? [])].flatMap((uid) => {
      const creation = this.#creations.get(uid);
      if (creation === undefined || creation.seenMs < sinceMs || !isOlder(version, creation)) return [];
      return [creation.party];
    });
  }

  #note(object: KubeObject): void {
    const own = this.#options.macsOf(object).filter(({ holder }) => holder.confirms);
    const [first] = own;
    const { uid, resourceVersion } = object.metadata;
    if (first === undefined || uid === undefined) return;
    const { kind, namespace, name } = first.holder;
    const macs = [...new Set(own.map(({ mac }) => mac))];
    this.#makeRoom(macs.length);
    const seenMs = this.#options.clock.monotonicMs();
    this.#creations.set(uid, { party: { kind, namespace, name, uid }, macs, resourceVersion, seenMs });
    for (const mac of macs) this.#uids.set(mac, (this.#uids.get(mac) ?? new Set()).add(uid));
    this.#addresses += macs.length;
  }

  /** Forgets what is old, and as much else of what is oldest as there is too much. */
  #makeRoom(more: number): void {
    const sinceMs = this.#sinceMs();
    for (const [uid, { macs, seenMs }] of this.#creations) {
      if (seenMs >= sinceMs && this.#addresses + more <= MAX_ADDRESSES) return;
      this.#creations.delete(uid);
      this.#addresses -= macs.length;
      for (const mac of macs) {
        const uids = this.#uids.get(mac);
        uids?.delete(uid);
        if (uids?.size === 0) this.#uids.delete(mac);
      }
    }
  }

  #sinceMs(): number {
    return this.#options.clock.monotonicMs() - this.#options.keptMs();
  }
}
