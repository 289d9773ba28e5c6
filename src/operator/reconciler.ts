/**
 * Reconciles the NetworkAddonsConfig, once per call: validate, fill in defaults, render, apply, remove, report. It is
 * level-based: what to do follows from the state alone, so it may be called at any time and interrupted anywhere.
 */

import { apiVersionOf, MAC_POOLS } from "../api/kinds.ts";
import type { MACPool } from "../api/mac-pool.ts";
import { DEFAULT_MAC_POOL } from "../api/names.ts";
import type { NetworkAddonsConfig, NetworkAddonsConfigSpec } from "../api/network-addons-config.ts";
import { isConflict, isNotFound } from "../kube/client/api-error.ts";
import { Applier, messageOf } from "./apply/applier.ts";
import { ApplyPass } from "./apply/apply-pass.ts";
import { CertificateKeeper, type CertificateKeeperOptions } from "./apply/certificate-keeper.ts";
import { keyOf } from "./apply/inventory.ts";
import { Remover } from "./apply/remover.ts";
import { RepairBackoff } from "./apply/repair-backoff.ts";
import { renderEverything } from "./components/registry.ts";
import { ConfigWriter, type ConfigWriterOptions } from "./config/config-writer.ts";
import {
  type EffectiveSpec,
  effectiveSpec,
  type PoolRange,
  type Previous,
  unsafeChanges,
} from "./config/effective-spec.ts";
import { formerRange, Records } from "./config/records.ts";
import { validateSpec } from "./config/validation.ts";
import { type Decoration, ownerReferenceTo } from "./manifests/labels.ts";
import { ErrorGracePeriod } from "./status/error-grace-period.ts";
import type { Outcome, Reconciled } from "./status/outcome.ts";
import { AWAITED, type ConfigurationFailure } from "./status/reasons.ts";
import { soonest } from "./status/rollout.ts";
import { componentsInTrouble } from "./status/status.ts";
import { StrandedPods } from "./status/stranded-pods.ts";
import { WarningEvents } from "./status/warning-events.ts";
import { Teardown } from "./teardown.ts";
import type { Facts } from "./watch/facts.ts";
import { nodeLayouts } from "./watch/node-layout.ts";
import type { OtherOperator, OtherOperators } from "./watch/other-operators.ts";
import { askPlatform, type PlatformFacts } from "./watch/platform.ts";

export interface ReconcilerOptions extends ConfigWriterOptions, CertificateKeeperOptions {
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly otherOperators: OtherOperators;
  /** Called when what went on behind a pass has ended. */
  readonly onEnd: () => void;
}

/** Watches wake the reconciler. This covers what no watch reports. */
const WAITING_RECHECK_MS = 2_000;
const CONFLICT_RECHECK_MS = 100;
/** Reason of the event about somebody who undoes again and again what the operator applies. */
const ANOTHER_WRITER = "AnotherWriter";

interface Again {
  readonly requeueAfterMs?: number | undefined;
}

/** Why the configuration is not applied. */
interface ConfigurationRefusal {
  readonly reason: ConfigurationFailure;
  readonly message: string;
  /** Undefined if only another configuration helps. */
  readonly error?: unknown;
}

/** `spec`: what to bring about; next to a refusal the one that was applied last. */
type Decision =
  | {
      readonly spec: EffectiveSpec;
      readonly facts: Facts;
      readonly refusal?: ConfigurationRefusal;
      readonly recheckAfterMs?: number | undefined;
    }
  | { readonly spec?: undefined; readonly refusal: ConfigurationRefusal };

interface Converged {
  /** Undefined while it is too early to say. */
  readonly outcome: Outcome | undefined;
  readonly again: Again;
  readonly error?: unknown;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #records: Records;
  /** As the platform said last. */
  #platform: PlatformFacts | undefined;
  readonly #applyPass: ApplyPass;
  readonly #writer: ConfigWriter;
  readonly #gracePeriod: ErrorGracePeriod;
  readonly #teardown: Teardown;

  constructor(options: ReconcilerOptions) {
    const { client, clock, settings } = options;
    this.#options = options;
    const records = new Records(client, settings.operatorNamespace, clock);
    const backoff = new RepairBackoff(clock);
    const remover = new Remover({ ...options, backoff, known: new Set(renderEverything(settings).map(keyOf)) });
    const applier = new Applier({ ...options, backoff });
    this.#records = records;
    const events = new WarningEvents({ client, clock, log: options.log, maxAgeMs: settings.podTroubleDeadlineMs / 10 });
    const deadlineMs = settings.podTroubleDeadlineMs;
    const stranded = new StrandedPods({ client, events, clock, log: options.log, deadlineMs });
    const keeper = new CertificateKeeper(options);
    this.#applyPass = new ApplyPass({ ...options, applier, remover, records, keeper, events, stranded });
    this.#writer = new ConfigWriter(options);
    const gracePeriod = new ErrorGracePeriod(clock, deadlineMs);
    this.#gracePeriod = gracePeriod;
    this.#teardown = new Teardown({ ...options, records, remover, writer: this.#writer, gracePeriod });
  }

  async reconcile(signal: AbortSignal): Promise<Again> {
    const config = this.#options.view.config();
    if (config === undefined || config.metadata.deletionTimestamp !== undefined) {
      await this.#applyPass.end();
      const isDone = await this.#teardown.run(config, this.#decoration(config), signal);
      return isDone ? {} : { requeueAfterMs: WAITING_RECHECK_MS };
    }
    try {
      const { outcome, again, error } = await this.#pass(config, signal);
      if (outcome !== undefined) await this.#writer.report(config, outcome, signal);
      if (error !== undefined) throw error;
      this.#gracePeriod.reset();
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

  /** Ends what goes on behind the last pass. */
  async end(): Promise<void> {
    await this.#applyPass.end();
  }

  async #pass(config: NetworkAddonsConfig, signal: AbortSignal): Promise<Converged> {
    const asking = this.#options.otherOperators.operator(() => this.#isInCharge(signal), signal);
    const other = await attempt("FailedToApply", asking, signal);
    if (!other.ok) {
      const message = `whether another operator is in charge is not known: ${other.refusal.message}`;
      return { ...this.#refused({ ...other.refusal, message }), again: {} };
    }
    if (other.value === undefined) return this.#converge(config, signal);
    await this.#applyPass.end();
    return standBack(other.value);
  }

  async #isInCharge(signal: AbortSignal): Promise<boolean> {
    return (await this.#records.inventory(signal)) !== undefined;
  }

  async #converge(config: NetworkAddonsConfig, signal: AbortSignal): Promise<Converged> {
    const decision = await this.#decide(config, signal);
    const { spec, refusal } = decision;
    if (spec === undefined) return { ...this.#refused(refusal), again: {} };
    // Only from here on there is something to remove.
    const finalizer = await attempt("FailedToApply", this.#writer.withFinalizer(config, signal), signal);
    if (!finalizer.ok) return { ...this.#refused(finalizer.refusal), again: {} };
    const state = { decoration: this.#decoration(config), inTrouble: componentsInTrouble(config.status) };
    const run = this.#applyPass.run(spec, decision.facts, state, signal);
    const result = await attempt("FailedToApply", run, signal);
    if (!result.ok) return { ...this.#refused(refusal ?? result.refusal), again: {}, error: result.refusal.error };
    const { outcome, recheckAfterMs, newOtherWriters } = result.value;
    for (const message of newOtherWriters) {
      this.#options.announce(config, { type: "Warning", reason: ANOTHER_WRITER, message });
    }
    const again = { requeueAfterMs: soonest([recheckAfterMs, decision.recheckAfterMs]) };
    return refusal === undefined ? { outcome, again } : { ...this.#refused(refusal, outcome), again };
  }

  /** `running`: what became of the configuration that was applied last. */
  #refused(refusal: ConfigurationRefusal, running?: Reconciled): Omit<Converged, "again"> {
    const { reason, message, error } = refusal;
    const isEarly = error !== undefined && !this.#gracePeriod.isOver(error);
    return { outcome: isEarly ? undefined : { kind: "refused", reason, message, running }, error };
  }

  async #decide(config: NetworkAddonsConfig, signal: AbortSignal): Promise<Decision> {
    const { view, random, otherOperators } = this.#options;
    const record = await attempt("FailedToGetPreviousConfigSpec", this.#records.applied(signal), signal);
    if (!record.ok) return record;
    const applied = record.value;
    if (!applied.ok) return { refusal: { reason: "FailedToGetPreviousConfigSpec", message: applied.reason } };
    const isNew = config.spec?.kubeMacPool !== undefined && applied.spec?.kubeMacPool === undefined;
    const range = await attempt("FailedToApply", this.#existingPoolRange(isNew, signal), signal);
    if (!range.ok) return range;
    const otherPool = await attempt("FailedToApply", otherOperators.pool(signal), signal);
    if (!otherPool.ok) return otherPool;
    const previous: Previous = { spec: applied.spec, poolRange: range.value };
    const lastGood = applied.spec === undefined ? undefined : effectiveSpec(applied.spec, previous, random);
    const factsOn = async (platform: PlatformFacts, spec: EffectiveSpec): Promise<Facts> => {
      const { nodeSelector = {} } = spec.placementConfiguration.workloads;
      await view.keepNodeLabels(Object.keys(nodeSelector), signal);
      const layouts = nodeLayouts(view.nodes(), platform.openShift, nodeSelector);
      return { ...platform, ...layouts, ...view.facts(), otherMacPool: otherPool.value?.what };
    };
    const insteadOf = async (refusal: ConfigurationRefusal): Promise<Decision> =>
      lastGood === undefined || this.#platform === undefined
        ? { refusal }
        : { spec: lastGood, facts: await factsOn(this.#platform, lastGood), refusal };

    const asking = Promise.resolve(view.platform.facts() ?? askPlatform(this.#options.client, signal));
    const platform = await attempt("FailedToGetOpenShiftNetworkConfig", asking, signal);
    if (!platform.ok) return insteadOf(platform.refusal);
    this.#platform = platform.value;
    const wrong = wrongIn(config.spec ?? {}, previous, platform.value);
    if (wrong !== undefined) return insteadOf(wrong);
    const spec = effectiveSpec(config.spec ?? {}, previous, random);
    // Stored before anything is rendered from it: a random range must survive a crash.
    const saving = this.#records.saveApplied(spec, this.#decoration(config), signal);
    const saved = await attempt("FailedToApply", saving, signal);
    if (!saved.ok) return insteadOf(saved.refusal);
    return { spec, facts: await factsOn(platform.value, spec), recheckAfterMs: otherPool.value?.recheckAfterMs };
  }

  #decoration(config: NetworkAddonsConfig | undefined): Decoration {
    const { version } = this.#options.settings;
    return { version, configLabels: config?.metadata.labels, owner: config && ownerReferenceTo(config) };
  }

  /** A pool that outlived its component keeps its range when the component is on again; a new one takes its predecessor's. */
  async #existingPoolRange(isNew: boolean, signal: AbortSignal): Promise<PoolRange | undefined> {
    const pool = this.#options.view.live({
      apiVersion: apiVersionOf(MAC_POOLS),
      kind: MAC_POOLS.kind,
      name: DEFAULT_MAC_POOL,
    }) as MACPool | undefined;
    const range = pool?.spec.ranges?.[0];
    if (range !== undefined) return { rangeStart: range.start, rangeEnd: range.end };
    const { client, otherOperators, settings } = this.#options;
    const namespaces = [settings.operandNamespace, ...otherOperators.poolNamespaces()];
    return isNew ? await formerRange(client, namespaces, signal) : undefined;
  }
}

/** Nothing is written but the status, which says who is in charge. */
function standBack({ what, recheckAfterMs }: OtherOperator): Converged {
  const message =
    `${what} belongs to another operator, which is alive and in charge. This one changes nothing until that is gone: ` +
    "scale it to zero or delete it. What scales it up again, such as OLM, has to go first (docs/guide/move-from-cnao.md)";
  return { outcome: { kind: "standing-back", message }, again: { requeueAfterMs: recheckAfterMs } };
}

function wrongIn(
  asked: NetworkAddonsConfigSpec,
  previous: Previous,
  platform: PlatformFacts,
): ConfigurationRefusal | undefined {
  const invalid = validateSpec(asked, platform);
  if (invalid.length > 0) {
    const message = `failed to validate NetworkConfig.Spec: ${configurationErrors(invalid)}`;
    return { reason: "FailedToValidate", message };
  }
  const unsafe = unsafeChanges(asked, previous);
  if (unsafe.length === 0) return undefined;
  const message = `not applying unsafe change: ${configurationErrors(unsafe)}`;
  return { reason: "FailedToGetPreviousConfigSpec", message };
}

function configurationErrors(errors: readonly string[]): string {
  return `invalid configuration:\n${errors.join("\n")}`;
}

/** A conflict, and an object that is gone, are left to the caller. */
async function attempt<T>(
  reason: ConfigurationFailure,
  work: Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: ConfigurationRefusal }> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    signal.throwIfAborted();
    if (isConflict(error) || isNotFound(error)) throw error;
    const hasNoNamespace = error instanceof Error && isNotFound(error.cause);
    return {
      ok: false,
      refusal: { reason: hasNoNamespace ? "NoNamespace" : reason, message: messageOf(error), error },
    };
  }
}

/** Whether to retry without a change in the cluster. */
function failuresOf(outcome: Outcome | undefined): string[] {
  const reconciled = outcome?.kind === "refused" ? outcome.running : outcome;
  if (reconciled?.kind !== "reconciled") return [];
  const failed = reconciled.components.flatMap(({ state }) =>
    state.kind === "failed" && !AWAITED.has(state.reason) ? [state.message] : [],
  );
  return [...failed, ...reconciled.removalFailures];
}
