/** Facts about the cluster that no watch reports. They are detected again from time to time. */

import { ApiError } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Clock } from "../kube/clock.ts";
import type { Facts } from "./facts.ts";

type PlatformFacts = Pick<Facts, "openShift" | "multiNetworkDisabled">;

const OPENSHIFT_NETWORK = "/apis/operator.openshift.io/v1/networks/cluster";
const MAX_AGE_MS = 60_000;

export class Platform {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  #known: { readonly facts: PlatformFacts; readonly atMs: number } | undefined;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** As they were when they were detected last. */
  get known(): PlatformFacts | undefined {
    return this.#known?.facts;
  }

  /** Throws if the API server gives no usable answer. */
  async facts(signal: AbortSignal): Promise<PlatformFacts> {
    const atMs = this.#clock.monotonicMs();
    if (this.#known === undefined || atMs - this.#known.atMs > MAX_AGE_MS) {
      this.#known = { facts: await this.#detect(signal), atMs };
    }
    return this.#known.facts;
  }

  async #detect(signal: AbortSignal): Promise<PlatformFacts> {
    const answer = await this.#client.raw("GET", OPENSHIFT_NETWORK, { signal });
    if (answer.status === 404 || answer.status === 403) return { openShift: false, multiNetworkDisabled: false };
    if (answer.status !== 200) {
      throw new ApiError({
        status: answer.status,
        reason: "Unknown",
        message: `OpenShift's network configuration could not be read: the API server answered ${answer.status}`,
        request: `GET ${OPENSHIFT_NETWORK}`,
      });
    }
    const { spec } = answer.body as { readonly spec?: { readonly disableMultiNetwork?: boolean } };
    return { openShift: true, multiNetworkDisabled: spec?.disableMultiNetwork === true };
  }
}
