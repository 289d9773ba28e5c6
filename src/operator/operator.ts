/**
 * The operator: every replica watches, the leader reconciles. It is built from a client and settings; main.ts takes them
 * from the environment, tests pass their own.
 */

import type { Registry } from "prom-client";
import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { apiVersionOf } from "../kube/client/resource.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { Controller } from "../kube/informer/controller.ts";
import { LeaderElector } from "../kube/leader/leader-election.ts";
import type { Log } from "../kube/log.ts";
import { PREREQUISITE_DEFINITIONS, renderEverything } from "./components/registry.ts";
import type { OperatorSettings } from "./config/settings.ts";
import { operatorMetrics } from "./metrics.ts";
import { Reconciler } from "./reconciler.ts";
import { ClusterView } from "./watch/cluster-view.ts";
import { OtherOperators } from "./watch/other-operators.ts";
import type { Urgency } from "./watch/urgency.ts";

export interface OperatorOptions {
  readonly client: KubeClient;
  readonly settings: OperatorSettings;
  /** Identity of this replica: the pod's name. */
  readonly identity: string;
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly metrics: Registry;
  /** What else this process watches. */
  readonly alsoWatching?: readonly Watching[];
}

export interface Watching {
  /** Ends the waits for the API server's next answer. `relist`: and lists everything anew. */
  retryNow(relist: boolean): void;
}

/** The first retries are quick. A lasting failure is retried ever less often. */
const BACKOFF = { baseMs: 200, maxMs: 30_000 };

/** The pace at which the status follows a rollout, however many nodes it has. */
const PROGRESS_INTERVAL_MS = 1_000;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #view: ClusterView;
  readonly #otherOperators: OtherOperators;
  readonly #watching: readonly Watching[];

  constructor(options: OperatorOptions) {
    const { client, settings, identity, log, metrics, clock = systemClock } = options;
    this.#options = options;
    const everything = renderEverything(settings);
    const prerequisites = PREREQUISITE_DEFINITIONS;
    this.#view = new ClusterView({ client, settings, everything, prerequisites, clock, log, metrics });
    this.#otherOperators = new OtherOperators({ client, settings, identity, clock, log, metrics });
    this.#watching = [this.#view, this.#otherOperators, ...(options.alsoWatching ?? [])];
    operatorMetrics(metrics, this.#view, settings);
  }

  /** Every watch is synced. */
  get hasSynced(): boolean {
    return this.#view.hasSynced && this.#otherOperators.hasSynced;
  }

  /** Runs until the signal aborts. Then the lease is released and no write is in flight. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, settings, identity, log, clock = systemClock } = this.#options;
    this.#view.start(signal);
    this.#otherOperators.start(signal);
    const elector = new LeaderElector({
      client,
      namespace: settings.operatorNamespace,
      name: OPERATOR_NAME,
      identity,
      log,
      clock,
      onReachable: (relist) => {
        for (const one of this.#watching) one.retryNow(relist);
      },
    });
    await elector.run(signal, (leading) => this.#lead(leading));
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { client, settings, identity, log, metrics, clock = systemClock, random = Math.random } = this.#options;
    await Promise.all([this.#view.whenSynced(signal), this.#otherOperators.whenSynced(signal)]);
    const events = new EventRecorder({ client, controller: OPERATOR_NAME, instance: identity, log, clock });
    const reconciler = new Reconciler({
      client,
      view: this.#view,
      otherOperators: this.#otherOperators,
      settings,
      clock,
      random,
      announce: (config, { type, reason, message }) => {
        const regarding = {
          ...config,
          apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS),
          kind: NETWORK_ADDONS_CONFIGS.kind,
        };
        events.event(regarding, type, reason, message);
      },
      log,
      metrics,
      onEnd: () => controller.enqueue(NETWORK_ADDONS_CONFIG_NAME),
    });
    let reconciledMs = Number.NEGATIVE_INFINITY;
    const controller: Controller = new Controller({
      name: "network-addons-config",
      reconcile: (_key, context) => {
        reconciledMs = clock.monotonicMs();
        return reconciler.reconcile(context.signal);
      },
      backoff: BACKOFF,
      clock,
      log,
      metrics,
    });
    const check = (urgency: Urgency): void => {
      const dueMs = urgency === "now" ? 0 : reconciledMs + PROGRESS_INTERVAL_MS;
      controller.enqueueAfter(NETWORK_ADDONS_CONFIG_NAME, dueMs - clock.monotonicMs());
    };
    const stopWatching = this.#view.onChange(check);
    // Anybody may change what bears the name of another operator, as often as they like.
    const stopWatchingOthers = this.#otherOperators.onChange(() => check("soon"));
    controller.enqueue(NETWORK_ADDONS_CONFIG_NAME);
    try {
      await controller.run(signal);
    } finally {
      stopWatching();
      stopWatchingOthers();
      await reconciler.end();
    }
  }
}
