/**
 * Keeps the certificates of webhooks of components that are on, with the controller of src/certs in the operator's leader: it may
 * write the webhook configurations anyway, and whoever serves the webhooks may not.
 */

import type { Registry } from "prom-client";
import { CertManager, type KeptCertificates } from "../../certs/cert-manager.ts";
import { readIntervals } from "../../certs/configuration.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import { type Component, certificateIntervals, isOn } from "../components/component.ts";
import { COMPONENTS } from "../components/registry.ts";
import type { EffectiveSpec } from "../config/effective-spec.ts";
import type { OperatorSettings } from "../config/settings.ts";
import { type Rollout, type Surroundings, withoutCertificates } from "../status/rollout.ts";
import { messageOf } from "./applier.ts";

export interface CertificateKeeperOptions {
  readonly client: KubeClient;
  readonly settings: OperatorSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Registry;
}

type Intervals = ReturnType<typeof certificateIntervals>;

interface Kept {
  readonly intervals: string;
  readonly obstacle: () => string | undefined;
  readonly end: () => Promise<void>;
}

export class CertificateKeeper {
  readonly #options: CertificateKeeperOptions;
  readonly #kept = new Map<Component["name"], Kept>();

  constructor(options: CertificateKeeperOptions) {
    this.#options = options;
  }

  /** From now on keeps those that the spec asks for, and no others, until the signal aborts. */
  async keep(spec: EffectiveSpec, signal: AbortSignal): Promise<void> {
    const intervals = certificateIntervals(spec);
    for (const component of COMPONENTS) {
      const { name, certificates } = component;
      if (certificates === undefined) continue;
      const wanted = isOn(component, spec) ? JSON.stringify(intervals) : undefined;
      if (this.#kept.get(name)?.intervals === wanted) continue;
      await this.#end(name);
      if (wanted !== undefined) this.#kept.set(name, this.#start(certificates, intervals, signal));
    }
  }

  /** What keeps API servers from calling the component's webhooks. Nothing until that is known. */
  rollouts({ name, certificates }: Component, around: Surroundings): Rollout[] {
    const why = this.#kept.get(name)?.obstacle();
    if (why === undefined) return [];
    return [
      withoutCertificates(name, `the certificates of ${certificates?.serviceName} are not in place: ${why}`, around),
    ];
  }

  /** Resolves once nothing writes any more. */
  async end(): Promise<void> {
    await Promise.all([...this.#kept.keys()].map((name) => this.#end(name)));
  }

  async #end(name: Component["name"]): Promise<void> {
    await this.#kept.get(name)?.end();
    this.#kept.delete(name);
  }

  #start(certificates: KeptCertificates, intervals: Intervals, signal: AbortSignal): Kept {
    const { client, settings, clock, metrics } = this.#options;
    const log = this.#options.log.child({ certificates: certificates.serviceName });
    const namespace = settings.operandNamespace;
    const stop = new AbortController();
    let obstacle = (): string | undefined => undefined;
    const run = async (): Promise<void> => {
      const options = { client, namespace, clock, log, metrics, intervals: readIntervals(intervals) };
      const manager = new CertManager({ ...options, ...certificates });
      obstacle = () => manager.obstacle;
      await manager.run(AbortSignal.any([signal, stop.signal]));
    };
    const running = run().catch((error) => {
      obstacle = () => messageOf(error);
      log.error({ err: error }, "the certificates of webhooks are not kept");
    });
    const end = async (): Promise<void> => {
      stop.abort();
      await running;
    };
    return { intervals: JSON.stringify(intervals), obstacle: () => obstacle(), end };
  }
}
