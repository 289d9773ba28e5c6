/** Applies objects stage by stage with server-side apply. Fields of other managers survive. */

import { FIELD_MANAGER } from "../../api/names.ts";
import { ApiError, isConflict, isForbidden, isInvalid, isNotFound } from "../../kube/client/api-error.ts";
import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import { appliedKind, isEstablished } from "./applied-kinds.ts";
import { DriftRepair } from "./drift-repair.ts";
import { definedKind, type Inventory, identityKey, identityOf, kindOf, nameOf, refOf } from "./inventory.ts";
import { applyOrder, isLeftToOthers, needsApply, type PlannedObject } from "./plan.ts";
import { EXISTENCE, lastManager, type RepairBackoff } from "./repair-backoff.ts";
import { Takeover } from "./takeover.ts";

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

/** Field manager for creating Secrets only, so that a later apply never removes their data. */
const SECRET_CREATOR = `${FIELD_MANAGER}-secret-creator`;
const AGGREGATED = "only a new one can do without its aggregationRule";
const DELETING = "waits until the one that was found, which has another selector, is deleted";
const MAX_PARALLEL = 8;
const SERVED_WITHIN_MS = 30_000;

/** What a webhook of others does to a write, in the API server's words. */
const REFUSED = /admission webhook "([^"]+)" denied the request/;
const UNANSWERED = /failed calling webhook "([^"]+)"/;

export class Applier {
  readonly #client: KubeClient;
  readonly #view: ClusterView;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #driftRepair: DriftRepair;
  readonly #backoff: RepairBackoff;
  readonly #takeover: Takeover;
  /** Since when the API server does not serve what is defined, by key of the definition. */
  readonly #unserved = new Map<string, number>();

  constructor(options: { client: KubeClient; view: ClusterView; backoff: RepairBackoff; clock: Clock; log: Log }) {
    this.#client = options.client;
    this.#view = options.view;
    this.#clock = options.clock;
    this.#log = options.log;
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
          if (stage.stage !== "definitions" || this.#isServed(wanted)) return;
          awaited.add(definedKind(wanted.object));
          waiting.push(`${nameOf(wanted.object)} is not served yet`);
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
    const identity = identityOf(wanted.object);
    const isApplied = inventory.get(wanted.key)?.fingerprint === wanted.fingerprint;
    const live = this.#view.live(identity);
    try {
      const isFoundLeaving = !isApplied && live?.metadata.deletionTimestamp !== undefined;
      if (isFoundLeaving && !(await this.#takeover.workload(wanted, inventory, signal))) return DELETING;
      if (needsApply(wanted, this.#view.live(identity), isApplied)) {
        if (isApplied) await this.#applyAgain(wanted, signal);
        else if (!(await this.#takeover.workload(wanted, inventory, signal))) return DELETING;
        else await this.#send(wanted, signal);
      }
      await this.#repair(wanted, signal);
      return undefined;
    } catch (error) {
      if (isInvalid(error)) await this.#clearImmutable(wanted.object, error.message, signal);
      if (isForbidden(error)) await this.#clearAggregated(wanted.object, signal);
      throw error;
    }
  }

  /** The watch reports it. Throws when it has been waited for for 30 s. */
  #isServed({ key, object }: PlannedObject): boolean {
    if (isEstablished(this.#view.live(identityOf(object)) as CustomResourceDefinition | undefined)) {
      this.#unserved.delete(key);
      return true;
    }
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#unserved.get(key) ?? nowMs;
    this.#unserved.set(key, sinceMs);
    if (nowMs - sinceMs <= SERVED_WITHIN_MS) return false;
    throw new Error(`the API server still does not serve it after ${SERVED_WITHIN_MS / 1000} s`);
  }

  /** Others deleted it, or took the label by which it is watched. */
  async #applyAgain(wanted: PlannedObject, signal: AbortSignal): Promise<void> {
    if (this.#backoff.isMissingByUs(wanted.key)) return await this.#send(wanted, signal);
    if (!this.#backoff.mayRepair(wanted.key, EXISTENCE)) return;
    const current = await this.#current(wanted, signal);
    await this.#send(wanted, signal);
    this.#backoff.repaired(wanted.key, EXISTENCE, current && lastManager(current, "metadata.labels", FIELD_MANAGER));
  }

  /** Not from the caches: they have neither managers nor what has lost our label. */
  async #current({ object }: PlannedObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#client.get(appliedKind(object).resource, refOf(object), { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Undoes what others did to the object. */
  async #repair(wanted: PlannedObject, signal: AbortSignal): Promise<void> {
    const live = this.#view.live(identityOf(wanted.object));
    if (live === undefined || live.metadata.deletionTimestamp !== undefined || isLeftToOthers(live, wanted)) return;
    const field = lastingField(live) ?? (await this.#driftRepair.driftedField(wanted, live, signal));
    if (field === undefined || !this.#backoff.mayRepair(wanted.key, field)) return;
    const current = await this.#current(wanted, signal);
    if (current === undefined) return;
    const manager = lastManager(current, field, FIELD_MANAGER);
    this.#log.info({ object: wanted.key, field, manager }, "repairing");
    const repaired = (): void => this.#backoff.repaired(wanted.key, field, manager);
    await this.#putBack(wanted, current, field, signal).then(repaired, (error: unknown) => {
      // What was refused nobody has changed again.
      if (!(error instanceof ApiError)) repaired();
      throw error;
    });
  }

  async #putBack(wanted: PlannedObject, current: KubeObject, field: string, signal: AbortSignal): Promise<void> {
    if (lastingField(current) !== undefined) return await this.#clear(wanted.object, AGGREGATED, signal);
    const answer = await this.#driftRepair.putBack(wanted, current, signal);
    // Somebody has changed the object once more. The watch reports that.
    if (answer === undefined) return;
    this.#view.remember(answer);
    if ((await this.#driftRepair.driftedField(wanted, answer, signal)) !== field) return;
    this.#driftRepair.forget(wanted);
    if ((await this.#driftRepair.driftedField(wanted, answer, signal)) !== field) return;
    // No watch reports a webhook that turns the write into none, so the error is what brings the next try.
    throw new Error(`a webhook changed ${field} again at once: have it leave this object alone`);
  }

  async #send(wanted: PlannedObject, signal: AbortSignal): Promise<void> {
    this.#log.info({ object: wanted.key }, "applying");
    if (wanted.object.kind === "Secret") await this.#createSecret(wanted.object, signal);
    else this.#view.remember(await this.#apply(wanted, signal));
    this.#backoff.applied(wanted.key);
  }

  /** What others made of an object that the operator does not know to be its own may not bear a merge: it is put back before. */
  async #apply(wanted: PlannedObject, signal: AbortSignal): Promise<KubeObject> {
    try {
      return await this.#driftRepair.apply(wanted, signal);
    } catch (error) {
      if (!isInvalid(error) || !appliedKind(wanted.object).whole) throw error;
      const current = await this.#current(wanted, signal);
      if (current === undefined || !(await this.#driftRepair.replace(wanted, current, signal))) throw error;
      return await this.#driftRepair.apply(wanted, signal);
    }
  }

  /** The API server does not even say how a role would be without its aggregationRule. */
  async #clearAggregated(object: KubeObject, signal: AbortSignal): Promise<void> {
    if (object.kind !== RESOURCES.clusterRoles.kind) return;
    const current = await this.#client.get(RESOURCES.clusterRoles, refOf(object), { signal });
    if (lastingField(current as KubeObject) !== undefined) await this.#clear(object, AGGREGATED, signal);
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
  async #clearImmutable(object: KubeObject, reason: string, signal: AbortSignal): Promise<void> {
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

/** The API server's message, and after it what to do if a webhook is the cause. */
export function withWebhookAdvice(message: string, object: KubeObject): string {
  const webhook = (REFUSED.exec(message) ?? UNANSWERED.exec(message))?.[1];
  if (webhook === undefined) return message;
  const { namespace } = object.metadata;
  const exempt = namespace === undefined ? nameOf(object) : `namespace ${namespace}`;
  return `${message.replace(/\.$/, "")}. Change or delete webhook ${webhook}, or exempt ${exempt}`;
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL, items.length) }, worker));
}

/** The field that nobody can remove without every right there is. */
function lastingField(current: KubeObject): string | undefined {
  return current.aggregationRule === undefined ? undefined : "aggregationRule";
}
