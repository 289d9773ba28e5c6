/** What the operator writes to the NetworkAddonsConfig: the finalizer and the status, which it announces by events. */

import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { FIELD_MANAGER, NETWORK_ADDONS_GROUP } from "../../api/names.ts";
import type { NetworkAddonsConfig, NetworkAddonsConfigStatus } from "../../api/network-addons-config.ts";
import { isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Resource } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../apply/applier.ts";
import type { Outcome } from "../status/outcome.ts";
import { type Announcement, announcements, isSameStatus, nextStatus } from "../status/status.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import type { OperatorSettings } from "./settings.ts";

export interface ConfigWriterOptions {
  readonly client: KubeClient;
  readonly view: ClusterView;
  readonly settings: OperatorSettings;
  readonly clock: Clock;
  readonly announce: (config: NetworkAddonsConfig, announcement: Announcement) => void;
}

export const FINALIZER = `${NETWORK_ADDONS_GROUP}/teardown`;
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;

export class ConfigWriter {
  readonly #options: ConfigWriterOptions;
  /** The last status that was asked for, and what the API server made of it: it drops fields that an older CRD lacks. */
  #last:
    | { readonly asked: NetworkAddonsConfigStatus; readonly stored: NetworkAddonsConfigStatus | undefined }
    | undefined;

  constructor(options: ConfigWriterOptions) {
    this.#options = options;
  }

  async withFinalizer(config: NetworkAddonsConfig, signal: AbortSignal): Promise<void> {
    const finalizers = config.metadata.finalizers ?? [];
    if (finalizers.includes(FINALIZER)) return;
    try {
      await this.#setFinalizers(config, [...finalizers, FINALIZER], signal);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) throw error;
      throw new Error(`the finalizer ${FINALIZER} could not be set: ${messageOf(error)}`, { cause: error });
    }
  }

  async withoutFinalizer(config: NetworkAddonsConfig, signal: AbortSignal): Promise<void> {
    const finalizers = config.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) return;
    const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
    await this.#setFinalizers(config, others, signal);
  }

  /** Writes the status if it differs from the present one. */
  async report(config: NetworkAddonsConfig, outcome: Outcome, signal: AbortSignal): Promise<void> {
    const { client, view, settings, clock, announce } = this.#options;
    const { name = "", generation, resourceVersion } = config.metadata;
    const last = this.#last;
    const isStored = last?.stored !== undefined && isSameStatus(config.status, last.stored);
    const previous = isStored ? last.asked : config.status;
    const status = nextStatus({ outcome, previous, generation, version: settings.version, nowMs: clock.now() });
    if (isSameStatus(previous, status)) return;
    // Whoever is in charge writes the other conditions of the same list.
    const expected = outcome.kind === "standing-back" ? { metadata: { resourceVersion } } : {};
    const patch = { type: "merge" as const, body: { ...expected, status } };
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, signal };
    const answer = await client.patch(CONFIGS, { name }, patch, options);
    this.#last = { asked: status, stored: answer.status };
    view.remember(answer);
    for (const announcement of announcements(previous, status)) announce(config, announcement);
  }

  async #setFinalizers(config: NetworkAddonsConfig, finalizers: readonly string[], signal: AbortSignal): Promise<void> {
    const { client, view } = this.#options;
    const { name = "", resourceVersion } = config.metadata;
    const body = { metadata: { finalizers, resourceVersion } };
    const options = { fieldManager: FIELD_MANAGER, signal };
    view.remember(await client.patch(CONFIGS, { name }, { type: "merge", body }, options));
  }
}
