/** One run of the operator, from its start to its violent end. The next one has its name, as in a container that is restarted. */

import { Registry } from "prom-client";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import type { Log } from "../../../src/kube/log.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { Operator } from "../../../src/operator/operator.ts";
import type { OperatorHarness } from "../support/operator-harness.ts";

/** The client of an operator that is killed between two writes: whatever it asks for then is never sent and never answered. */

class FusedClient extends KubeClient {
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

const IDENTITY = "operator-1";
/** From 0 to below 1. Every range that an operator chooses is the same. */
export const CHANCE = 0.5;

export class Incarnation implements AsyncDisposable {
  readonly #client: FusedClient;
  readonly #stop = new AbortController();
  /** Why it ended by itself. */
  failure: unknown;

  private constructor(client: FusedClient, log: Log) {
    this.#client = client;
    const operator = new Operator({
      client,
      settings: DEFAULT_SETTINGS,
      identity: IDENTITY,
      log,
      metrics: new Registry(),
      random: () => CHANCE,
    });
    operator.run(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.failure = error;
    });
  }

  static async start({ cluster }: OperatorHarness, log: Log): Promise<Incarnation> {
    const credentials = await credentialsFromKubeconfig(cluster.operatorKubeconfig);
    return new Incarnation(new FusedClient({ credentials }), log);
  }

  /** Kills it before its next write but `writes`; resolves then, or after `limitMs`. */
  async killAfter(writes: number, limitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, limitMs);
    this.#client.blowAfter(writes, resolve);
    await promise;
    clearTimeout(timer);
    this.kill();
  }

  kill(): void {
    this.#client.blow();
    this.#stop.abort(new Error("killed"));
  }

  /** Ends its connections too. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.#client[Symbol.asyncDispose]();
  }
}
