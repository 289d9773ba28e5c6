/** Applies objects stage by stage with server-side apply. Fields of other managers survive. */

import { FIELD_MANAGER } from "../../api/names.ts";
import { ApiError, isConflict, isForbidden, isInvalid, isNotFound } from "../../kube/client/api-error.ts";
import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import { appliedKind } from "./applied-kinds.ts";
import { driftedField, lacksEmptyFields, lacksFields } from "./drift.ts";
import { DriftRepair } from "./drift-repair.ts";
import { Establishing } from "./established.ts";
import { definedKind, type Inventory, identityKey, identityOf, kindOf, nameOf, refOf } from "./inventory.ts";
import { applyOrder, needsApply, type PlannedObject } from "./plan.ts";
import { EXISTENCE, lastManager, type RepairBackoff } from "./repair-backoff.ts";
import { Takeover } from "./takeover.ts";
import { withWebhookAdvice } from "./webhook-advice.ts";

export interface ApplyResult {
  /** Fingerprints of the objects that match now, by object key. */
  readonly settled: ReadonlyMap<string, string>;
  /** One sentence each. */
  readonly failures: readonly string[];
  /** Who keeps undoing what is applied; one sentence each. */
  readonly otherWriters: readonly string[];
  /** What has to wait, most often until pods run; one sentence each. */
  readonly waiting: readonly string[];
}

/** What there is, and what is wrong with it. */
interface Repair {
  readonly current: KubeObject;
  readonly field: string;
}

/** Field manager for creating Secrets only, so that a later apply never removes their data. */
const SECRET_CREATOR = `${FIELD_MANAGER}-secret-creator`;
const AGGREGATED = "only a new one can do without its aggregationRule";
const DELETING = "waits until the one that was found, which has another selector, is deleted";
const MAX_PARALLEL = 8;

export class Applier {
  readonly #client: KubeClient;
  readonly #view: ClusterView;
  readonly #log: Log;
  readonly #establishing: Establishing;
  readonly #driftRepair: DriftRepair;
  readonly #backoff: RepairBackoff;
  readonly #takeover: Takeover;
  /** Objects that lack fields right after an apply, because the API server drops them. Not applied again until either changes. */
  readonly #incomplete = new Map<string, string>();

  constructor(options: { client: KubeClient; view: ClusterView; backoff: RepairBackoff; clock: Clock; log: Log }) {
    this.#client = options.client;
    this.#view = options.view;
    this.#log = options.log;
    this.#establishing = new Establishing(options);
    this.#driftRepair = new DriftRepair(options.client);
    this.#backoff = options.backoff;
    this.#takeover = new Takeover(options, this.#driftRepair);
  }

  /** Applies one component. Webhook configurations are left out if anything before them failed. */
  async apply(objects: readonly PlannedObject[], inventory: Inventory, signal: AbortSignal): Promise<ApplyResult> {
    const settled = new Map<string, string>();
    const failures = [...new Set(objects.flatMap(({ object }) => this.#view.notListable(object) ?? []))];
    const otherWriters: string[] = [];
    const waiting: string[] = [];
    const awaited = new Set<string>();
    for (const stage of applyOrder(objects)) {
      if (stage.stage === "webhooks") {
        if (failures.length === 0) waiting.push(...(await this.#takeover.webhooksToKeep(objects, inventory, signal)));
        if (failures.length > 0 || waiting.length > 0) break;
      }
      const able = ({ object }: PlannedObject): boolean =>
        this.#view.notListable(object) === undefined && !awaited.has(kindOf(object));
      await inParallel(stage.objects.filter(able), async (wanted) => {
        try {
          const obstacle = await this.#settle(wanted, inventory, signal);
          otherWriters.push(
            ...this.#backoff.otherWriters(wanted.key).map((writer) => `${nameOf(wanted.object)}: ${writer}`),
          );
          if (obstacle === undefined) settled.set(wanted.key, wanted.fingerprint);
          else waiting.push(`${nameOf(wanted.object)} ${obstacle}`);
          if (obstacle !== undefined && stage.stage === "definitions") awaited.add(definedKind(wanted.object));
        } catch (error) {
          signal.throwIfAborted();
          const message = withWebhookAdvice(messageOf(error), wanted.object);
          failures.push(`${nameOf(wanted.object)} could not be applied: ${message}`);
          this.#log.warn({ err: error, object: wanted.key }, "apply failed");
        }
      });
    }
    return { settled, failures, otherWriters, waiting };
  }

  /** Undefined once the object is as wanted, otherwise what it waits for. */
  async #settle(wanted: PlannedObject, inventory: Inventory, signal: AbortSignal): Promise<string | undefined> {
    const isDefinition = wanted.object.kind === "CustomResourceDefinition";
    const isApplied = inventory.get(wanted.key)?.fingerprint === wanted.fingerprint;
    const live = this.#view.live(identityOf(wanted.object));
    const isFoundLeaving = !isApplied && live?.metadata.deletionTimestamp !== undefined;
    if (isFoundLeaving && !(await this.#takeover.workload(wanted, inventory, signal))) return DELETING;
    if ((isDefinition || !isApplied || live === undefined) && this.#isDue(wanted, inventory)) {
      if (isApplied) await this.#applyAgain(wanted, live, signal);
      else if (!(await this.#takeover.workload(wanted, inventory, signal))) return DELETING;
      else await this.#send(wanted, signal);
    }
    if (isDefinition) {
      const known = this.#view.live(identityOf(wanted.object)) as CustomResourceDefinition | undefined;
      const isServed = await this.#establishing.isServed(refOf(wanted.object).name, known, signal);
      return isServed ? undefined : "is not served yet";
    }
    try {
      await this.#repair(wanted, signal);
      return undefined;
    } catch (error) {
      if (isForbidden(error)) await this.#clearAggregated(wanted.object, signal);
      throw error;
    }
  }

  #isDue(wanted: PlannedObject, inventory: Inventory): boolean {
    const live = this.#view.live(identityOf(wanted.object));
    return needsApply(wanted, live, inventory.get(wanted.key)) && !this.#isAsGoodAsItGets(wanted, live);
  }

  #isAsGoodAsItGets(wanted: PlannedObject, live: KubeObject | undefined): boolean {
    return live !== undefined && this.#incomplete.get(wanted.key) === versionsOf(wanted, live);
  }

  /** Others deleted it, took the label by which it is watched, or changed a definition. */
  async #applyAgain(wanted: PlannedObject, live: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    if (live === undefined && this.#backoff.isMissingByUs(wanted.key)) return await this.#send(wanted, signal);
    const field = (live && driftedField(live, wanted.object)) ?? EXISTENCE;
    if (!this.#backoff.mayRepair(wanted.key, field)) return;
    const manager = await this.#lastManager(wanted.object, live === undefined ? "metadata.labels" : field, signal);
    await this.#send(wanted, signal);
    this.#backoff.repaired(wanted.key, field, manager);
  }

  /** Undefined if the object is gone, or nobody else wrote it. */
  async #lastManager(object: KubeObject, field: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const current = await this.#client.get(appliedKind(object).resource, refOf(object), { signal });
      return lastManager(current, field, FIELD_MANAGER);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Undoes what others did to the object. */
  async #repair(wanted: PlannedObject, signal: AbortSignal): Promise<void> {
    const live = this.#view.live(identityOf(wanted.object));
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) return;
    if (this.#isAsGoodAsItGets(wanted, live)) return;
    const field = await this.#driftRepair.changedField(wanted, live, signal);
    if (field === undefined || !this.#backoff.mayRepair(wanted.key, field)) return;
    try {
      const { resource } = appliedKind(wanted.object);
      const current = await this.#client.get(resource, refOf(wanted.object), { signal });
      const manager = lastManager(current, field, FIELD_MANAGER);
      this.#log.info({ object: wanted.key, field, manager }, "repairing");
      const repaired = (): void => this.#backoff.repaired(wanted.key, field, manager);
      await this.#send(wanted, signal, { current, field }).then(repaired, (error: unknown) => {
        // What was refused nobody has changed again.
        if (!(error instanceof ApiError)) repaired();
        throw error;
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #send(wanted: PlannedObject, signal: AbortSignal, repair?: Repair): Promise<void> {
    this.#log.info({ object: wanted.key }, "applying");
    if (wanted.object.kind === "Secret") {
      if (repair === undefined) await this.#createSecret(wanted.object, signal);
      else this.#view.remember(await this.#driftRepair.relabel(wanted.object, signal));
      this.#backoff.applied(wanted.key);
      return;
    }
    const { whole } = appliedKind(wanted.object);
    try {
      // First, because an apply that is merged with somebody else's additions may be invalid.
      const putBack = repair !== undefined && whole ? await this.#putBack(wanted, repair.current, signal) : undefined;
      const answer = await this.#merge(wanted, signal);
      this.#view.remember(answer);
      this.#backoff.applied(wanted.key);
      if (lacksFields(answer, wanted.object)) this.#incomplete.set(wanted.key, versionsOf(wanted, answer));
      else this.#incomplete.delete(wanted.key);
      // Between the two writes anybody may have edited the object once more. The watch reports that.
      const taken = whole ? putBack : answer;
      if (repair !== undefined && taken !== undefined) await this.#mustHold(wanted, taken, repair, signal);
    } catch (error) {
      if (isInvalid(error)) await this.#replace(wanted.object, error.message, signal);
      throw error;
    }
  }

  /**
   * What others made of an object that the operator does not know to be its own may not bear a merge: it is put back before.
   * Over content the API server drops an empty field, and over nothing it keeps it.
   */
  async #merge(wanted: PlannedObject, signal: AbortSignal): Promise<KubeObject> {
    const { resource, whole } = appliedKind(wanted.object);
    const options = { fieldManager: FIELD_MANAGER, force: true, signal };
    const apply = () => this.#client.apply(resource, wanted.object, options);
    const merge = async () => {
      const answer = await apply();
      return lacksEmptyFields(answer, wanted.object) ? await apply() : answer;
    };
    try {
      return await merge();
    } catch (error) {
      if (!isInvalid(error) || !whole) throw error;
      // Not from the caches: they do not have what has lost our label.
      const current = await this.#client.get(resource, refOf(wanted.object), { signal }).catch((reason: unknown) => {
        throw isNotFound(reason) ? error : reason;
      });
      if ((await this.#driftRepair.replace(wanted, current as KubeObject, signal)) === undefined) throw error;
      return await merge();
    }
  }

  /** No watch reports a webhook that turns the write into none, so the error is what brings the next try. */
  async #mustHold(wanted: PlannedObject, answer: KubeObject, { field }: Repair, signal: AbortSignal): Promise<void> {
    if (this.#isAsGoodAsItGets(wanted, answer)) return;
    if ((await this.#driftRepair.changedField(wanted, answer, signal)) !== field) return;
    this.#driftRepair.forget(wanted);
    if ((await this.#driftRepair.changedField(wanted, answer, signal)) !== field) return;
    throw new Error(`a webhook changed ${field} again at once: have it leave this object alone`);
  }

  /** As the API server stored it. Undefined if it did not. */
  async #putBack(wanted: PlannedObject, current: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    if (!needsNewObject(current)) return this.#driftRepair.replace(wanted, current, signal);
    await this.#clear(wanted.object, AGGREGATED, signal);
    return undefined;
  }

  /** The API server does not even say how a role would be without its aggregationRule. */
  async #clearAggregated(object: KubeObject, signal: AbortSignal): Promise<void> {
    if (object.kind !== RESOURCES.clusterRoles.kind) return;
    const current = await this.#client.get(RESOURCES.clusterRoles, refOf(object), { signal });
    if (needsNewObject(current as KubeObject)) await this.#clear(object, AGGREGATED, signal);
  }

  /** Not forced: a Secret that was created meanwhile keeps its data. */
  async #createSecret(secret: KubeObject, signal: AbortSignal): Promise<void> {
    const empty = { ...secret, data: { "tls.crt": "", "tls.key": "" } };
    try {
      this.#view.remember(await this.#client.apply(RESOURCES.secrets, empty, { fieldManager: SECRET_CREATOR, signal }));
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** A selector or a roleRef is immutable, so an object of the same name from another product or version is deleted first. */
  async #replace(object: KubeObject, reason: string, signal: AbortSignal): Promise<void> {
    const isImmutable = /field is immutable|cannot change roleRef/.test(reason);
    if (isImmutable && appliedKind(object).whole) await this.#clear(object, "an immutable field differs", signal);
  }

  async #clear(object: KubeObject, why: string, signal: AbortSignal): Promise<void> {
    const identity = identityOf(object);
    this.#log.info({ object: identity }, `${why}: deleting it, so that it can be created again`);
    await this.#client.delete(appliedKind(object).resource, refOf(object), { signal });
    this.#view.forget(identity);
    this.#backoff.deleted(identityKey(identity));
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL, items.length) }, worker));
}

function versionsOf(wanted: PlannedObject, live: KubeObject): string {
  return `${wanted.fingerprint} ${live.metadata.resourceVersion}`;
}

/** Who removes an aggregationRule needs every right there is. */
function needsNewObject(current: KubeObject): boolean {
  return current.aggregationRule !== undefined;
}
