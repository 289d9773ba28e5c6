/** Finds what others did to an applied object, and puts objects that are the operator's whole back to what they were. */

import { FIELD_MANAGER } from "../../api/names.ts";
import { isConflict, isInvalid, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import { appliedKind } from "./applied-kinds.ts";
import { changedField, differingField, replacementFor } from "./drift.ts";
import type { PlannedObject } from "./plan.ts";
import { isAppliedByUs } from "./repair-backoff.ts";

export class DriftRepair {
  readonly #client: KubeClient;
  /** By object key: the wanted object as the API server completes it. */
  readonly #complete = new Map<string, { readonly fingerprint: string; readonly object: KubeObject }>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Path of the first field that is not as the operator wants it. */
  async driftedField(wanted: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<string | undefined> {
    const { object } = wanted;
    if (object.kind === "Secret") return changedField(live.metadata.labels, object.metadata.labels);
    const changed = changedField(live, object, true);
    // With nothing more in it than what was asked for, there is nothing to ask the API server about.
    if (changed !== undefined || differingField(live, object, object) === undefined) return changed;
    const complete = await this.#completed(wanted, live, signal);
    return complete === undefined ? changedField(live, object) : differingField(live, complete, object);
  }

  /** Asks the API server anew what the object is like, because a webhook of others may have its say since. */
  forget({ key }: PlannedObject): void {
    this.#complete.delete(key);
  }

  /** Writes it whole if it is the operator's whole. Undefined if it was changed or deleted meanwhile. */
  async putBack(wanted: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const { kind, metadata } = wanted.object;
    if (kind === "Secret") return unlessChanged(this.#relabel(metadata, signal));
    if (!appliedKind(wanted.object).whole) return this.apply(wanted, signal);
    const written = await this.replace(wanted, live, signal);
    // Somebody has cleared the managers, by which this operator knows what it has applied.
    return written === undefined || isAppliedByUs(written) ? written : this.apply(wanted, signal);
  }

  /** Writes the object whole. Undefined if it was changed or deleted meanwhile. */
  replace({ object }: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    return unlessChanged(
      this.#client.update(appliedKind(object).resource, replacementFor(live, object), write(signal)),
    );
  }

  /** Sets the operator's fields only. */
  apply({ object }: PlannedObject, signal: AbortSignal): Promise<KubeObject> {
    return this.#client.apply(appliedKind(object).resource, object, { ...write(signal), force: true });
  }

  /** The data of a Secret are its keeper's. */
  #relabel({ name = "", namespace, labels }: KubeObject["metadata"], signal: AbortSignal): Promise<KubeObject> {
    const patch = { type: "merge" as const, body: { metadata: { labels } } };
    return this.#client.patch(RESOURCES.secrets, { name, namespace }, patch, write(signal));
  }

  /**
   * By a dry run, so that defaults, fields that this API server drops, and other products' webhooks are the API server's matter.
   * Once more without a version: while a workload rolls out, its status changes all the time. Where the API server demands one,
   * whatever changed the object is an event, and leads here again. Undefined if the API server would take it only as a new one.
   */
  async #completed(wanted: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const known = this.#complete.get(wanted.key);
    if (known?.fingerprint === wanted.fingerprint) return known.object;
    const object = await this.#tried(wanted.object, live, signal).catch((error: unknown) => {
      if (isInvalid(error)) return undefined;
      throw error;
    });
    if (object !== undefined) this.#complete.set(wanted.key, { fingerprint: wanted.fingerprint, object });
    return object;
  }

  async #tried(wanted: KubeObject, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const { resource, whole } = appliedKind(wanted);
    const options = { ...write(signal), dryRun: true };
    if (!whole) return this.#client.apply(resource, wanted, { ...options, force: true });
    const { metadata, ...rest } = replacementFor(live, wanted);
    const tried = await unlessChanged(this.#client.update(resource, { ...rest, metadata }, options));
    const { resourceVersion: _, ...ofAnyVersion } = metadata;
    return tried ?? unlessChanged(this.#client.update(resource, { ...rest, metadata: ofAnyVersion }, options));
  }
}

function write(signal: AbortSignal): { readonly fieldManager: string; readonly signal: AbortSignal } {
  return { fieldManager: FIELD_MANAGER, signal };
}

/** Undefined if the object was changed or deleted meanwhile. */
async function unlessChanged(writing: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await writing;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
