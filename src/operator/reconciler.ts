/**
 * Reconciles the NetworkAddonsConfig, once per call: validate, fill in defaults, render, apply, remove, report. It is
 * level-based: it reads the state and no history, so it may be called at any time and interrupted anywhere.
 */

import { apiVersionOf, MAC_POOLS, NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import type { MACPool } from "../api/mac-pool.ts";
import { DEFAULT_MAC_POOL, FIELD_MANAGER, NETWORK_ADDONS_GROUP } from "../api/names.ts";
import type { NetworkAddonsConfig } from "../api/network-addons-config.ts";
import { isConflict, isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { OwnerReference, Resource } from "../kube/client/resource.ts";
import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { renderEverything } from "./components/registry.ts";
import { Applier } from "./convergence/applier.ts";
import type { ClusterView } from "./convergence/cluster-view.ts";
import { EMPTY_INVENTORY, keyOf } from "./convergence/inventory.ts";
import { Records } from "./convergence/records.ts";
import { Remover } from "./convergence/remover.ts";
import { Rollforward } from "./convergence/rollforward.ts";
import type { Facts } from "./facts.ts";
import type { Decoration } from "./manifests/labels.ts";
import { Platform } from "./platform.ts";
import type { OperatorSettings } from "./settings.ts";
import { effectiveSpec, type PoolRange, type Previous, unsafeChanges } from "./spec/effective-spec.ts";
import { validateSpec } from "./spec/validation.ts";
import type { ConfigurationFailure, Outcome } from "./status/outcome.ts";
import { nextDeadlineMs } from "./status/rollout.ts";
import { type Announcement, announcements, isSameStatus, nextStatus } from "./status/status.ts";

export interface ReconcilerOptions {
  readonly client: KubeClient;
  readonly view: ClusterView;
  readonly settings: OperatorSettings;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly announce: (config: NetworkAddonsConfig, announcement: Announcement) => void;
  readonly log: Log;
}

export const FINALIZER = `${NETWORK_ADDONS_GROUP}/teardown`;
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
/** Watches wake the reconciler. This covers what no watch reports. */
const WAITING_RECHECK_MS = 2_000;
const CONFLICT_RECHECK_MS = 100;

interface Again {
  readonly requeueAfterMs?: number | undefined;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #records: Records;
  readonly #platform: Platform;
  readonly #remover: Remover;
  readonly #rollforward: Rollforward;

  constructor(options: ReconcilerOptions) {
    const { client, clock, settings, view } = options;
    this.#options = options;
    this.#records = new Records(client, settings.operatorNamespace);
    this.#platform = new Platform(client, clock);
    this.#remover = new Remover({ ...options, known: new Set(renderEverything(settings).map(keyOf)) });
    this.#rollforward = new Rollforward({
      applier: new Applier(options),
      remover: this.#remover,
      records: this.#records,
      view,
      settings,
      clock,
    });
  }

  async reconcile(signal: AbortSignal): Promise<Again> {
    const config = this.#options.view.config();
    if (config === undefined || config.metadata.deletionTimestamp !== undefined) return this.#tearDown(config, signal);
    try {
      const current = await this.#withFinalizer(config, signal);
      const { outcome, again } = await this.#converge(current, signal);
      await this.#report(current, outcome, signal);
      const failures = failuresOf(outcome);
      if (failures.length > 0) throw new Error(failures.join("\n"));
      return again;
    } catch (error) {
      if (isConflict(error)) return { requeueAfterMs: CONFLICT_RECHECK_MS };
      // Most likely deleted meanwhile. The watch will say so.
      if (isNotFound(error)) return { requeueAfterMs: WAITING_RECHECK_MS };
      throw error;
    }
  }

  async #converge(config: NetworkAddonsConfig, signal: AbortSignal): Promise<{ outcome: Outcome; again: Again }> {
    const { view, random } = this.#options;
    const asked = config.spec ?? {};
    const facts: Facts = { ...(await this.#platform.facts(signal)), nodeCount: view.nodes().length };

    const invalid = validateSpec(asked, facts);
    if (invalid.length > 0) {
      return refused("FailedToValidate", `failed to validate NetworkConfig.Spec: ${configurationErrors(invalid)}`);
    }
    const applied = await this.#records.applied(signal);
    if (!applied.ok) return refused("FailedToGetPreviousConfigSpec", applied.reason);
    const previous: Previous = { spec: applied.spec, poolRange: this.#existingPoolRange() };
    const unsafe = unsafeChanges(asked, previous);
    if (unsafe.length > 0) {
      return refused("FailedToGetPreviousConfigSpec", `not applying unsafe change: ${configurationErrors(unsafe)}`);
    }
    const spec = effectiveSpec(asked, previous, random);
    const decoration = this.#decoration(config);
    // Stored before anything is rendered from it: a random range must survive a crash.
    await this.#records.saveApplied(spec, decoration, signal);
    const { outcome, waiting } = await this.#rollforward.run(spec, facts, decoration, signal);
    if (waiting) return { outcome, again: { requeueAfterMs: WAITING_RECHECK_MS } };
    return { outcome, again: { requeueAfterMs: nextDeadlineMs(this.#surroundings()) } };
  }

  async #tearDown(config: NetworkAddonsConfig | undefined, signal: AbortSignal): Promise<Again> {
    const inventory = await this.#records.inventory(signal);
    const { gone, waiting, failures } = await this.#remover.remove(inventory ?? EMPTY_INVENTORY, new Set(), signal);
    const left = new Map([...(inventory ?? EMPTY_INVENTORY)].filter(([key]) => !gone.has(key)));
    if (left.size > 0) {
      if (gone.size > 0) await this.#records.saveInventory(left, this.#decoration(config), signal);
      const message = [...waiting].map(([component, reason]) => `${component}: ${reason}`).join("; ");
      this.#options.log.debug({ waiting: message }, "teardown continues");
      if (failures.length > 0) throw new Error(failures.join("\n"));
      return { requeueAfterMs: WAITING_RECHECK_MS };
    }
    if (inventory !== undefined) await this.#records.deleteAll(signal);
    if (config?.metadata.finalizers?.includes(FINALIZER)) {
      await this.#setFinalizers(
        config,
        config.metadata.finalizers.filter((finalizer) => finalizer !== FINALIZER),
        signal,
      );
    }
    return {};
  }

  async #withFinalizer(config: NetworkAddonsConfig, signal: AbortSignal): Promise<NetworkAddonsConfig> {
    const finalizers = config.metadata.finalizers ?? [];
    if (finalizers.includes(FINALIZER)) return config;
    return this.#setFinalizers(config, [...finalizers, FINALIZER], signal);
  }

  async #setFinalizers(
    config: NetworkAddonsConfig,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<NetworkAddonsConfig> {
    const { client, view } = this.#options;
    const { name = "", resourceVersion } = config.metadata;
    const body = { metadata: { finalizers, resourceVersion } };
    const options = { fieldManager: FIELD_MANAGER, signal };
    const answer = await client.patch(CONFIGS, { name }, { type: "merge", body }, options);
    view.rememberConfig(answer);
    return answer;
  }

  async #report(config: NetworkAddonsConfig, outcome: Outcome, signal: AbortSignal): Promise<void> {
    const { client, view, settings, clock, announce } = this.#options;
    const { name = "", generation } = config.metadata;
    const previous = config.status;
    const nowMs = clock.now();
    const status = nextStatus({ outcome, previous, generation, version: settings.version, nowMs });
    if (isSameStatus(previous, status)) return;
    const patch = { type: "merge" as const, body: { status } };
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, signal };
    view.rememberConfig(await client.patch(CONFIGS, { name }, patch, options));
    for (const announcement of announcements(previous, status)) announce(config, announcement);
  }

  #decoration(config: NetworkAddonsConfig | undefined): Decoration {
    const { name = "", uid, labels } = config?.metadata ?? {};
    const owner: OwnerReference | undefined =
      uid === undefined
        ? undefined
        : {
            apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS),
            kind: NETWORK_ADDONS_CONFIGS.kind,
            name,
            uid,
            controller: true,
            blockOwnerDeletion: true,
          };
    return { version: this.#options.settings.version, configLabels: labels, owner };
  }

  /** A pool that outlived its component keeps its range when the component is on again. */
  #existingPoolRange(): PoolRange | undefined {
    const pool = this.#options.view.live({
      apiVersion: apiVersionOf(MAC_POOLS),
      kind: MAC_POOLS.kind,
      name: DEFAULT_MAC_POOL,
    }) as MACPool | undefined;
    const range = pool?.spec.ranges?.[0];
    return range === undefined ? undefined : { rangeStart: range.start, rangeEnd: range.end };
  }

  #surroundings() {
    const { view, clock } = this.#options;
    return { nodes: view.nodes(), pods: view.pods(), nowMs: clock.now() };
  }
}

/** Whether to retry without a change in the cluster. A refused spec is not retried. */
function failuresOf(outcome: Outcome): string[] {
  if (outcome.kind === "refused") return [];
  const failed = outcome.components.flatMap(({ state }) => (state.kind === "failed" ? [state.message] : []));
  return [...failed, ...outcome.removalFailures];
}

function refused(reason: ConfigurationFailure, message: string): { outcome: Outcome; again: Again } {
  return { outcome: { kind: "refused", reason, message }, again: {} };
}

function configurationErrors(errors: readonly string[]): string {
  return `invalid configuration:\n${errors.join("\n")}`;
}
