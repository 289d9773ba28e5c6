/** Brings the cluster to an effective spec. Components proceed in parallel; a failing one never blocks the others. */

import type { KubeObject } from "../../kube/client/resource.ts";
import {
  type Component,
  type Deployed,
  hostPathNotes,
  isOn,
  missingPrerequisites,
  type RenderInput,
} from "../components/component.ts";
import { COMPONENTS, renderComponent } from "../components/registry.ts";
import type { EffectiveSpec } from "../config/effective-spec.ts";
import type { Records } from "../config/records.ts";
import { foundInventory } from "../config/records.ts";
import type { OperatorSettings } from "../config/settings.ts";
import { type Decoration, decorate } from "../manifests/labels.ts";
import { explained } from "../status/event-query.ts";
import type { ComponentOutcome, Reconciled } from "../status/outcome.ts";
import type { ConfigurationFailure } from "../status/reasons.ts";
import {
  cannotStart,
  FirstSeen,
  type Rollout,
  rollout,
  type Surroundings,
  soonest,
  underLevel,
  withoutPods,
} from "../status/rollout.ts";
import type { StrandedPods } from "../status/stranded-pods.ts";
import type { WarningEvents } from "../status/warning-events.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import type { Facts } from "../watch/facts.ts";
import { appliedKind, isWorkload } from "./applied-kinds.ts";
import { type Applier, type ApplyResult, messageOf } from "./applier.ts";
import { ApplyRuns, type ApplyRunsOptions } from "./apply-runs.ts";
import type { CertificateKeeper } from "./certificate-keeper.ts";
import {
  entriesAfter,
  entryFor,
  type Inventory,
  type InventoryEntry,
  identityOf,
  type ObjectIdentity,
} from "./inventory.ts";
import { type PlannedObject, planned } from "./plan.ts";
import type { RemovalResult, Remover } from "./remover.ts";

type ComponentName = ComponentOutcome["name"];

type Rendered = { readonly name: ComponentName } & (
  | {
      readonly kind: "objects";
      readonly objects: readonly PlannedObject[];
      readonly component: Component;
      readonly input: RenderInput;
    }
  | { readonly kind: "failed"; readonly reason: ConfigurationFailure; readonly message: string }
);

export interface ApplyPassOptions extends ApplyRunsOptions {
  readonly applier: Applier;
  readonly remover: Remover;
  readonly records: Records;
  readonly keeper: CertificateKeeper;
  readonly view: ClusterView;
  readonly settings: OperatorSettings;
  readonly events: WarningEvents;
  readonly stranded: StrandedPods;
}

export interface ApplyPassResult {
  readonly outcome: Reconciled;
  /** Undefined: when a watch reports a change. */
  readonly recheckAfterMs: number | undefined;
  /** Who began to undo again and again what is applied; one sentence each. */
  readonly newOtherWriters: readonly string[];
}

/** For what no watch reports: pods of a removed component are gone, a rollout ended while webhooks were looked at. */
const RECHECK_MS = 2_000;

export class ApplyPass {
  readonly #options: ApplyPassOptions;
  readonly #runs: ApplyRuns;
  readonly #firstSeen = new FirstSeen();
  /** Components whose pods could not run before this process, as the status reports it, until this process changes anything. */
  #inTrouble: ReadonlySet<string> | undefined;
  /** Other writers that were reported already. */
  #reportedWriters: ReadonlySet<string> = new Set();

  constructor(options: ApplyPassOptions) {
    this.#options = options;
    this.#runs = new ApplyRuns(options);
  }

  /** Ends the applies that were left behind, and the keeping of certificates. */
  async end(): Promise<void> {
    await Promise.all([this.#runs.keep(new Map()), this.#options.keeper.end()]);
  }

  /** `inTrouble`: the components whose pods can't run, as the status reports it. Counts in the first run of a process. */
  async run(
    spec: EffectiveSpec,
    facts: Facts,
    { decoration, inTrouble }: { readonly decoration: Decoration; readonly inTrouble: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<ApplyPassResult> {
    const { applier, remover, records, keeper, settings, view } = this.#options;
    const isFirst = this.#inTrouble === undefined;
    this.#inTrouble ??= inTrouble;
    const rendered = this.#render(spec, facts, decoration);
    if (isFirst) this.#lookAtWhatIsLeft(rendered);
    await keeper.keep(spec, signal);
    const wanted = rendered.flatMap((component) =>
      component.kind === "objects" ? component.objects.map((object) => ({ ...object, component: component.name })) : [],
    );
    const recorded = await records.inventory(signal);
    await this.#runs.keep(new Map(rendered.map((component) => [component.name, contentOf(component)])));
    const found = recorded?.size ? recorded : foundInventory(view, settings, decoration.owner?.uid);
    const before = this.#runs.withSettled(found);
    const known = withEntries(before, wanted);
    await records.saveInventory(known, decoration, signal);

    const results = new Map<ComponentName, ApplyResult>();
    const applying = rendered.map(async (component) => {
      if (component.kind !== "objects") return;
      const { name, objects } = component;
      const work = (ending: AbortSignal) => applier.apply(objects, before, ending);
      results.set(name, await this.#runs.apply(name, contentOf(component), work, signal));
    });
    const keep = keysToKeep(wanted, rendered, known);
    const [removal] = await Promise.all([remover.remove(known, keep, signal), ...applying]);
    const settled = new Map([...results.values()].flatMap((result) => [...result.settled]));
    await records.saveInventory(entriesAfter(known, removal.gone, settled), decoration, signal);

    const outcomes = await Promise.all(rendered.map((component) => this.#outcome(component, results, signal)));
    this.#firstSeen.endRound();
    const ofRecords = records.otherWriters();
    const otherWriters = [...[...results.values()].flatMap((result) => result.otherWriters), ...ofRecords];
    const newOtherWriters = otherWriters.filter((writer) => !this.#reportedWriters.has(writer));
    this.#reportedWriters = new Set(otherWriters);
    const outcome: Reconciled = {
      kind: "reconciled",
      components: [...outcomes.filter(isReported), ...removing(rendered, removal), ...recordsOutcome(ofRecords)],
      removalFailures: removal.failures,
      distributions: facts.distributions,
      workloads: wanted.map(({ object }) => object).filter(isWorkload),
    };
    const workloads = outcomes.flatMap(({ state }) => (state.kind === "deployed" ? state.workloads : []));
    const waits = removal.waiting.size > 0 ? [RECHECK_MS] : [];
    const recheckAfterMs = soonest([...waits, ...workloads.map((workload) => workload.recheckAfterMs)]);
    return { outcome, recheckAfterMs, newOtherWriters };
  }

  #render(spec: EffectiveSpec, facts: Facts, decoration: Decoration): Rendered[] {
    const { settings } = this.#options;
    return COMPONENTS.filter((component) => isOn(component, spec)).map((component): Rendered => {
      const { name } = component;
      const other = component.otherInstallation?.(facts);
      if (other !== undefined) return { name, kind: "failed", reason: "AnotherOperator", message: other };
      const missing = missingPrerequisites(component, facts);
      if (missing.length > 0)
        return { name, kind: "failed", reason: "MissingPrerequisite", message: missing.join("\n") };
      try {
        const deployed = (identity: ObjectIdentity) => this.#deployed(name, identity);
        const input = { spec, facts, settings, deployed };
        const objects = renderComponent(component, input).map((object) => planned(finished(object, decoration)));
        return { name, kind: "objects", objects, component, input };
      } catch (error) {
        return { name, kind: "failed", reason: "FailedToRender", message: messageOf(error) };
      }
    });
  }

  async #outcome(
    rendered: Rendered,
    results: ReadonlyMap<ComponentName, ApplyResult>,
    signal: AbortSignal,
  ): Promise<ComponentOutcome> {
    const { name } = rendered;
    if (rendered.kind === "failed") {
      return { name, state: { kind: "failed", reason: rendered.reason, message: rendered.message } };
    }
    const { failures = [], otherWriters = [], waiting = [] } = results.get(name) ?? {};
    if (failures.length + otherWriters.length > 0) {
      const message = [...failures, ...otherWriters].join("\n");
      return { name, state: { kind: "failed", reason: "FailedToApply", message } };
    }
    const around = this.#surroundings(name);
    const { view, keeper } = this.#options;
    const level = view.platform.podSecurityLevel();
    const notListable = view.notListable({ apiVersion: "v1", kind: "Pod" });
    const { objects, component, input } = rendered;
    const workloads = objects
      .map(({ object }) => object)
      .filter((object) => isWorkload(object) && (waiting.length === 0 || view.live(identityOf(object)) !== undefined))
      .map((workload) =>
        notListable === undefined
          ? underLevel(rollout(workload, view.live(identityOf(workload)), around), workload, level)
          : withoutPods(workload, notListable),
      );
    const explained = await Promise.all(workloads.map((workload) => this.#explain(workload, signal)));
    const refusalSign = component.refusalSign?.(input.facts);
    if (refusalSign !== undefined && explained.every(({ phase }) => phase === "ready")) {
      explained.push(await this.#options.stranded.rolloutOf(name, refusalSign, signal));
    }
    explained.push(...keeper.rollouts(component, around));
    const awaited = waiting.map((message): Rollout => ({ phase: "rolling", message, recheckAfterMs: RECHECK_MS }));
    const notes = hostPathNotes(component, input).map((note): Rollout => ({ phase: "ready", note }));
    const hostPaths = component.hostPaths?.(input) ?? [];
    return { name, state: { kind: "deployed", workloads: [...explained, ...awaited, ...notes] }, hostPaths };
  }

  async #explain(workload: Rollout, signal: AbortSignal): Promise<Rollout> {
    if (workload.phase !== "failing" || workload.eventQuery === undefined) return workload;
    const event = await this.#options.events.latest(workload.eventQuery, signal);
    return event === undefined ? workload : explained(workload, workload.eventQuery, event);
  }

  #deployed(component: ComponentName, identity: ObjectIdentity): Deployed | undefined {
    const object = this.#options.view.live(identity);
    if (object === undefined) return undefined;
    const around = this.#surroundings(component);
    return { object, rollout: rollout(object, object, around), cannotStart: cannotStart(object, around) };
  }

  /** Before anything is changed: what keeps pods from running is overdue where the status reports it already. */
  #lookAtWhatIsLeft(rendered: readonly Rendered[]): void {
    for (const component of rendered) {
      const around = this.#surroundings(component.name);
      for (const { object } of component.kind === "objects" ? component.objects : []) {
        if (isWorkload(object)) rollout(object, this.#options.view.live(identityOf(object)), around);
      }
    }
    this.#inTrouble = new Set();
  }

  #surroundings(component: ComponentName): Surroundings {
    const { view, clock, settings } = this.#options;
    const nowMs = clock.now();
    const newMs = this.#inTrouble?.has(component) ? nowMs - settings.podTroubleDeadlineMs : nowMs;
    return {
      nodes: view.nodes(),
      pods: view.pods(),
      nowMs,
      deadlineMs: settings.podTroubleDeadlineMs,
      firstSeenMs: (what) => this.#firstSeen.sinceMs(what, newMs),
    };
  }
}

/** What is applied of it. */
function contentOf(component: Rendered): string {
  if (component.kind !== "objects") return "";
  return component.objects.map(({ key, fingerprint }) => `${key} ${fingerprint}`).join("\n");
}

/** A part that nobody asked for is no row of the status, unless it fails. */
function isReported({ name, state }: ComponentOutcome): boolean {
  return state.kind === "failed" || !COMPONENTS.some((component) => component.name === name && component.standing);
}

/** Data outlives the configuration, so it has no owner that would take it along. */
function finished(object: KubeObject, decoration: Decoration): KubeObject {
  return decorate(object, decoration, { owned: appliedKind(object).removal !== undefined });
}

type WantedObject = PlannedObject & { readonly component: ComponentName };

function withEntries(before: Inventory, wanted: readonly WantedObject[]): Inventory {
  const entries = new Map<string, InventoryEntry>(before);
  for (const { key, object, component } of wanted) {
    entries.set(key, entryFor(object, component, before.get(key)?.fingerprint));
  }
  return entries;
}

/** A component that cannot be rendered just now keeps what it has. */
function keysToKeep(wanted: readonly WantedObject[], rendered: readonly Rendered[], known: Inventory): Set<string> {
  const failed = new Set<string>(rendered.filter(({ kind }) => kind === "failed").map(({ name }) => name));
  const kept = [...known].filter(([, entry]) => failed.has(entry.component)).map(([key]) => key);
  return new Set([...wanted.map(({ key }) => key), ...kept]);
}

function removing(rendered: readonly Rendered[], removal: RemovalResult): ComponentOutcome[] {
  const on = new Set<string>(rendered.map(({ name }) => name));
  return COMPONENTS.filter(({ name }) => !on.has(name) && removal.waiting.has(name)).map(({ name }) => ({
    name,
    state: { kind: "removing", message: removal.waiting.get(name) ?? "" },
  }));
}

function recordsOutcome(records: readonly string[]): ComponentOutcome[] {
  if (records.length === 0) return [];
  return [{ name: "records", state: { kind: "failed", reason: "FailedToApply", message: records.join("\n") } }];
}
