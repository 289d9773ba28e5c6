/** One run of the operator, from its start to its violent end. The next one has its name, as in a container that is restarted. */

import { Registry } from "prom-client";
import { credentialsFromKubeconfig } from "../../../src/kube/client/credentials.ts";
import type { Log } from "../../../src/kube/log.ts";
import { Operator } from "../../../src/operator/operator.ts";
import { type OperatorBed, SETTINGS } from "../support/operator-bed.ts";
import { FusedClient } from "./fused-client.ts";

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
      settings: SETTINGS,
      identity: IDENTITY,
      log,
      metrics: new Registry(),
      random: () => CHANCE,
    });
    operator.run(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.failure = error;
    });
  }

  static async start({ cluster }: OperatorBed, log: Log): Promise<Incarnation> {
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
