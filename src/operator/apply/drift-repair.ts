/** Finds what others did to an applied object, and puts objects that are the operator's whole back to what they were. */

import { FIELD_MANAGER } from "../../api/names.ts";
import { isConflict, isInvalid, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import { appliedKind } from "./applied-kinds.ts";
import { driftedField, lacksFields } from "./drift.ts";
import { extraField, replacementFor } from "./extra-fields.ts";
import type { PlannedObject } from "./plan.ts";

export class DriftRepair {
  readonly #client: KubeClient;
  /** By object key: the wanted object as the API server completes it. */
  readonly #complete = new Map<string, { readonly fingerprint: string; readonly object: KubeObject }>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Path of the first field that is not as the operator wants it. */
  async changedField(wanted: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<string | undefined> {
    if (wanted.object.kind === "Secret") return driftedField(live.metadata.labels, wanted.object.metadata.labels);
    const drifted = driftedField(live, wanted.object);
    if (!appliedKind(wanted.object).whole) return drifted;
    // With nothing more in it than what was asked for, there is nothing to ask the API server about.
    if (drifted === undefined && extraField(live, wanted.object) === undefined) return undefined;
    const complete = await this.#completed(wanted, live, signal);
    if (complete === undefined) return drifted;
    // What the API server never stores, such as an empty variable, nobody has changed.
    const isDropped = drifted === driftedField(complete, wanted.object) && lacksFields(complete, wanted.object);
    return isDropped ? extraField(live, complete) : (drifted ?? extraField(live, complete));
  }

  /** Asks the API server anew what the object is like, because a webhook of others may have its say since. */
  forget({ key }: PlannedObject): void {
    this.#complete.delete(key);
  }

  /** Writes the object whole. Undefined if it was changed again meanwhile or the API server takes it only as a new one. */
  replace({ object }: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    return this.#update(replacementFor(live, object), { signal });
  }

  /** The data of a Secret are its keeper's. */
  relabel({ metadata: { name = "", namespace, labels } }: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const patch = { type: "merge" as const, body: { metadata: { labels } } };
    return this.#client.patch(RESOURCES.secrets, { name, namespace }, patch, { fieldManager: FIELD_MANAGER, signal });
  }

  /**
   * By a dry run, so that defaults and other products' webhooks are the API server's matter. Once more without a version: while a
   * workload rolls out, its status changes all the time. Where the API server demands one, whatever changed the object is an
   * event, and leads here again.
   */
  async #completed(wanted: PlannedObject, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const known = this.#complete.get(wanted.key);
    if (known?.fingerprint === wanted.fingerprint) return known.object;
    const whole = replacementFor(live, wanted.object);
    const options = { dryRun: true, signal };
    const ofAnyVersion = () => this.#update(withoutVersion(whole), options);
    const object = await this.#update(whole, options, ofAnyVersion);
    if (object !== undefined) this.#complete.set(wanted.key, { fingerprint: wanted.fingerprint, object });
    return object;
  }

  async #update(
    object: KubeObject,
    options: { dryRun?: boolean; signal: AbortSignal },
    onConflict: () => Promise<KubeObject | undefined> = async () => undefined,
  ): Promise<KubeObject | undefined> {
    const { resource } = appliedKind(object);
    try {
      return await this.#client.update(resource, object, { fieldManager: FIELD_MANAGER, ...options });
    } catch (error) {
      if (isConflict(error)) return onConflict();
      if (isNotFound(error) || isInvalid(error)) return undefined;
      throw error;
    }
  }
}

function withoutVersion({ metadata, ...object }: KubeObject): KubeObject {
  const { resourceVersion: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}
