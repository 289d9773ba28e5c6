/** The operator's own memory: the effective spec it applied last, and the inventory. One ConfigMap each. */

import { APPLIED_CONFIG_MAP, FIELD_MANAGER, MAC_POOL_RANGE_CONFIG_MAP, OPERATOR_NAME } from "../../api/names.ts";
import { type NetworkAddonsConfigSpec, networkAddonsConfigSpecSchema } from "../../api/network-addons-config.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import {
  decodeInventory,
  encodeInventory,
  entryFor,
  type Inventory,
  type InventoryEntry,
  identityOf,
  keyOf,
} from "../apply/inventory.ts";
import { lastManager, RepairBackoff } from "../apply/repair-backoff.ts";
import { COMPONENTS, renderEverything } from "../components/registry.ts";
import { type Decoration, decorate } from "../manifests/labels.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import { NO_FACTS } from "../watch/facts.ts";
import type { EffectiveSpec, PoolRange } from "./effective-spec.ts";
import type { OperatorSettings } from "./settings.ts";
import { validateSpec } from "./validation.ts";

/** Other software reads it. */
const APPLIED_KEY = "applied";
export const INVENTORY_CONFIG_MAP = `${OPERATOR_NAME}-inventory`;
const INVENTORY_KEY = "objects";

export type AppliedRecord =
  | { readonly ok: true; readonly spec: NetworkAddonsConfigSpec | undefined }
  | { readonly ok: false; readonly reason: string };

export class Records {
  readonly #client: KubeClient;
  readonly #namespace: string;
  /** Texts as last read or written, by ConfigMap. Every reconcile reads before it writes. */
  readonly #stored = new Map<string, string | undefined>();
  /** Texts as last written, by ConfigMap. */
  readonly #own = new Map<string, string>();
  readonly #backoff: RepairBackoff;
  /** Who changed a ConfigMap last, where that is known. */
  readonly #writers = new Map<string, string | undefined>();

  constructor(client: KubeClient, operatorNamespace: string, clock: Clock) {
    this.#client = client;
    this.#namespace = operatorNamespace;
    this.#backoff = new RepairBackoff(clock);
  }

  /** One sentence for each record that somebody else keeps changing. Between two repairs its text as last written counts. */
  otherWriters(): string[] {
    return [APPLIED_CONFIG_MAP, INVENTORY_CONFIG_MAP].flatMap((name) =>
      this.#backoff.otherWriters(name).map((writer) => `ConfigMap ${this.#namespace}/${name}: ${writer}`),
    );
  }

  /** A live read: decisions about ranges and removals must not rest on a cache. */
  async applied(signal: AbortSignal): Promise<AppliedRecord> {
    const text = await this.#read(APPLIED_CONFIG_MAP, APPLIED_KEY, signal);
    if (text === undefined || text === "") return { ok: true, spec: undefined };
    try {
      return { ok: true, spec: networkAddonsConfigSpecSchema.parse(JSON.parse(text)) };
    } catch (error) {
      const where = `ConfigMap ${this.#namespace}/${APPLIED_CONFIG_MAP}, key ${APPLIED_KEY}`;
      const what = error instanceof Error ? error.message : String(error);
      return {
        ok: false,
        reason: `the previously applied configuration cannot be read from ${where}: ${what}. Correct or delete it.`,
      };
    }
  }

  /** Writes only a text that differs from the last one read. */
  async saveApplied(spec: EffectiveSpec, decoration: Decoration, signal: AbortSignal): Promise<void> {
    await this.#write(APPLIED_CONFIG_MAP, APPLIED_KEY, JSON.stringify(spec), decoration, signal);
  }

  /** Undefined if there is none: nothing was applied yet, or everything was removed. */
  async inventory(signal: AbortSignal): Promise<Inventory | undefined> {
    const stored = await this.#read(INVENTORY_CONFIG_MAP, INVENTORY_KEY, signal);
    return stored === undefined ? undefined : decodeInventory(stored);
  }

  async saveInventory(inventory: Inventory, decoration: Decoration, signal: AbortSignal): Promise<void> {
    const unowned = { ...decoration, owner: undefined };
    await this.#write(INVENTORY_CONFIG_MAP, INVENTORY_KEY, encodeInventory(inventory), unowned, signal);
  }

  async deleteAll(signal: AbortSignal): Promise<void> {
    this.#stored.clear();
    this.#own.clear();
    for (const name of [APPLIED_CONFIG_MAP, INVENTORY_CONFIG_MAP]) {
      this.#backoff.forget(name);
      try {
        await this.#client.delete(RESOURCES.configMaps, { name, namespace: this.#namespace }, { signal });
      } catch (error) {
        if (!isNotFound(error)) throw this.#trouble(name, "deleted", error);
      }
    }
  }

  async #read(name: string, key: string, signal: AbortSignal): Promise<string | undefined> {
    const found = await this.#get(name, key, signal);
    const own = this.#own.get(name);
    const isLeft = own !== undefined && found !== own && !this.#backoff.mayRepair(name, fieldOf(key));
    const text = isLeft ? own : found;
    this.#stored.set(name, text);
    return text;
  }

  /** Undefined: no such ConfigMap. One without the key counts as empty. */
  async #get(name: string, key: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const ref = { name, namespace: this.#namespace };
      const configMap = await this.#client.get(RESOURCES.configMaps, ref, { signal });
      this.#writers.set(name, lastManager(configMap, fieldOf(key), FIELD_MANAGER));
      return configMap.data?.[key] ?? "";
    } catch (error) {
      this.#writers.delete(name);
      if (isNotFound(error)) return undefined;
      throw this.#trouble(name, "read", error);
    }
  }

  async #write(name: string, key: string, text: string, decoration: Decoration, signal: AbortSignal): Promise<void> {
    if (this.#stored.get(name) === text) return;
    const object = decorate(
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, namespace: this.#namespace },
        data: { [key]: text },
      },
      decoration,
      { owned: true },
    );
    try {
      await this.#client.apply(RESOURCES.configMaps, object, { fieldManager: FIELD_MANAGER, force: true, signal });
    } catch (error) {
      throw this.#trouble(name, "written", error);
    }
    const own = this.#own.get(name);
    const isUndone = own !== undefined && this.#stored.get(name) !== own;
    if (isUndone) this.#backoff.repaired(name, fieldOf(key), this.#writers.get(name));
    this.#own.set(name, text);
    this.#stored.set(name, text);
  }

  #trouble(name: string, deed: "read" | "written" | "deleted", cause: unknown): Error {
    const what = cause instanceof Error ? cause.message : String(cause);
    const text = `ConfigMap ${this.#namespace}/${name} could not be ${deed}: ${what}. The operator keeps its records in it`;
    return new Error(`${text}: make room for it or change the policy that refuses it`, { cause });
  }
}

function fieldOf(key: string): string {
  return `data.${key}`;
}

/**
 * The range of a MAC pool that was here before, from the first namespace that has one: a cluster that changes its operator keeps
 * its addresses. A range that could not be asked for is none.
 */
export async function formerRange(
  client: KubeClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<PoolRange | undefined> {
  for (const namespace of namespaces) {
    const range = await rangeIn(client, namespace, signal);
    if (range !== undefined && validateSpec({ kubeMacPool: range }, NO_FACTS).length === 0) return range;
  }
  return undefined;
}

async function rangeIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<PoolRange | undefined> {
  try {
    const ref = { name: MAC_POOL_RANGE_CONFIG_MAP, namespace };
    const { data = {} } = await client.get(RESOURCES.configMaps, ref, { signal });
    const { RANGE_START: rangeStart, RANGE_END: rangeEnd } = data;
    return rangeStart && rangeEnd ? { rangeStart, rangeEnd } : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * The inventory made anew where there is none: every object that this version can apply and that the configuration with this
 * UID owns. Its ConfigMap goes with its namespace; objects without a namespace stay.
 */
export function foundInventory(view: ClusterView, settings: OperatorSettings, ownerUid: string | undefined): Inventory {
  const entries = new Map<string, InventoryEntry>();
  for (const component of COMPONENTS) {
    for (const object of renderEverything(settings, [component])) {
      const owners = view.live(identityOf(object))?.metadata.ownerReferences ?? [];
      const isOwned = ownerUid !== undefined && owners.some(({ uid }) => uid === ownerUid);
      if (isOwned) entries.set(keyOf(object), entryFor(object, component.name));
    }
  }
  return entries;
}
