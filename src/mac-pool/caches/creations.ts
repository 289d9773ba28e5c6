import type { Mac } from "../../api/mac.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Party } from "../core/party.ts";
import type { ListedMac } from "../objects/holders.ts";

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
  readonly #uids = new Map<Mac, readonly string[]>();

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
  }

  /** Whether the object was created through the webhook a short while ago. */
  has(uid: string): boolean {
    return this.#creations.has(uid);
  }

  /** Those with the address that were created after a version, in the API server's order. */
  after(version: { readonly resourceVersion?: string | undefined }, mac: Mac): readonly Party[] {
    const sinceMs = this.#sinceMs();
    return (this.#uids.get(mac) ?? []).flatMap((uid) => {
      const creation = this.#creations.get(uid);
      if (creation === undefined || creation.seenMs < sinceMs || !isOlder(version, creation)) return [];
      return [creation.party];
    });
  }

  #note(object: KubeObject): void {
    this.#forgetOld();
    const own = this.#options.macsOf(object).filter(({ holder }) => holder.confirms);
    const [first] = own;
    const { uid, resourceVersion } = object.metadata;
    if (first === undefined || uid === undefined) return;
    const { kind, namespace, name } = first.holder;
    const macs = own.map(({ mac }) => mac);
    const seenMs = this.#options.clock.monotonicMs();
    this.#creations.set(uid, { party: { kind, namespace, name, uid }, macs, resourceVersion, seenMs });
    for (const mac of macs) this.#uids.set(mac, [...(this.#uids.get(mac) ?? []), uid]);
  }

  #forgetOld(): void {
    const sinceMs = this.#sinceMs();
    for (const [uid, { macs, seenMs }] of this.#creations) {
      if (seenMs >= sinceMs) return;
      this.#creations.delete(uid);
      for (const mac of macs) {
        const others = (this.#uids.get(mac) ?? []).filter((other) => other !== uid);
        if (others.length > 0) this.#uids.set(mac, others);
        else this.#uids.delete(mac);
      }
    }
  }

  #sinceMs(): number {
    return this.#options.clock.monotonicMs() - this.#options.keptMs();
  }
}
