/** The client of an operator that is killed between two writes: whatever it asks for then is never sent and never answered. */

import { KubeClient } from "../../../src/kube/client/client.ts";
import type { Resource } from "../../../src/kube/client/resource.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";

export class FusedClient extends KubeClient {
  #writesLeft = Number.POSITIVE_INFINITY;
  #isDead = false;
  #onBlown: () => void = () => {};

  /** Lets that many writes through and ends then. Renewals of the Lease do not count. */
  blowAfter(writes: number, onBlown: () => void): void {
    this.#writesLeft = writes;
    this.#onBlown = onBlown;
  }

  /** Ends now. What was sent may still be carried out. */
  blow(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#onBlown();
  }

  override get: KubeClient["get"] = (...args) => this.#ask(() => super.get(...args));
  override list: KubeClient["list"] = (...args) => this.#ask(() => super.list(...args));
  override raw: KubeClient["raw"] = (...args) => this.#ask(() => super.raw(...args));
  override create: KubeClient["create"] = (...args) => this.#write(args[0], () => super.create(...args));
  override update: KubeClient["update"] = (...args) => this.#write(args[0], () => super.update(...args));
  override patch: KubeClient["patch"] = (...args) => this.#write(args[0], () => super.patch(...args));
  override apply: KubeClient["apply"] = (...args) => this.#write(args[0], () => super.apply(...args));
  override delete: KubeClient["delete"] = (...args) => this.#write(args[0], () => super.delete(...args));

  #write<T>({ kind }: Resource, call: () => Promise<T>): Promise<T> {
    if (kind !== RESOURCES.leases.kind && this.#writesLeft-- <= 0) this.blow();
    return this.#ask(call);
  }

  async #ask<T>(call: () => Promise<T>): Promise<T> {
    try {
      return this.#isDead ? await never() : await call();
    } finally {
      if (this.#isDead) await never();
    }
  }
}

const never = (): Promise<never> => new Promise(() => {});
