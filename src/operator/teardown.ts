/** Removes everything that was applied, then the finalizer of the NetworkAddonsConfig. What is in the way reaches its status. */

import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import type { NetworkAddonsConfig } from "../api/network-addons-config.ts";
import { isConflict, isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { messageOf } from "./apply/applier.ts";
import { EMPTY_INVENTORY, type Inventory } from "./apply/inventory.ts";
import type { Remover } from "./apply/remover.ts";
import { COMPONENTS } from "./components/registry.ts";
import { type ConfigWriter, FINALIZER } from "./config/config-writer.ts";
import type { Records } from "./config/records.ts";
import { foundInventory } from "./config/records.ts";
import type { OperatorSettings } from "./config/settings.ts";
import type { Decoration } from "./manifests/labels.ts";
import type { ErrorGracePeriod } from "./status/error-grace-period.ts";
import type { ClusterView } from "./watch/cluster-view.ts";

export interface TeardownOptions {
  readonly client: KubeClient;
  readonly view: ClusterView;
  readonly settings: OperatorSettings;
  readonly records: Records;
  readonly remover: Remover;
  readonly writer: ConfigWriter;
  readonly gracePeriod: ErrorGracePeriod;
}

interface Removal {
  readonly isDone: boolean;
  readonly waiting: ReadonlyMap<string, string>;
  readonly failures: readonly string[];
}

const NOTHING_LEFT: Removal = { isDone: true, waiting: new Map(), failures: [] };
const NOTHING: ReadonlySet<string> = new Set();
const STANDING: ReadonlySet<string> = new Set(COMPONENTS.filter(({ standing }) => standing).map(({ name }) => name));

export class Teardown {
  readonly #options: TeardownOptions;

  constructor(options: TeardownOptions) {
    this.#options = options;
  }

  /** One pass. True once nothing is left. `config`: undefined if it is gone already. */
  async run(config: NetworkAddonsConfig | undefined, decoration: Decoration, signal: AbortSignal): Promise<boolean> {
    const removal = await this.#tryToRemove(config, decoration, signal);
    if (removal === undefined) return false;
    if (removal.isDone) return true;
    const { waiting, failures } = removal;
    if (config !== undefined) await this.#report(config, { waiting, failures }, signal);
    if (failures.length > 0) throw new Error(failures.join("\n"));
    return false;
  }

  /** Undefined if something changed meanwhile. */
  async #tryToRemove(...args: Parameters<Teardown["run"]>): Promise<Removal | undefined> {
    const [config, , signal] = args;
    const { gracePeriod } = this.#options;
    try {
      const removal = await this.#remove(...args);
      gracePeriod.reset();
      return removal;
    } catch (error) {
      signal.throwIfAborted();
      if (isConflict(error) || isNotFound(error)) return undefined;
      if (config !== undefined && gracePeriod.isOver(error)) {
        await this.#report(config, { waiting: new Map(), failures: [messageOf(error)] }, signal);
      }
      throw error;
    }
  }

  async #remove(
    config: NetworkAddonsConfig | undefined,
    decoration: Decoration,
    signal: AbortSignal,
  ): Promise<Removal | undefined> {
    const { records, remover, writer } = this.#options;
    const recorded = await records.inventory(signal);
    const inventory = recorded?.size ? recorded : this.#found(config);
    if (config === undefined && inventory.size > 0 && (await this.#isThere(signal))) return undefined;
    // The guard is among them: it keeps the namespace and the operator's kinds until no component needs them any more.
    const standing = new Set([...inventory].filter(([, entry]) => STANDING.has(entry.component)).map(([key]) => key));
    const components = await remover.remove(inventory, standing, signal);
    const rest = without(inventory, components.gone);
    const isLast = rest.size === standing.size;
    const { gone, waiting, failures } = isLast ? await remover.remove(rest, NOTHING, signal) : components;
    const left = without(rest, gone);
    if (left.size > 0) {
      await records.saveInventory(left, decoration, signal);
      return { isDone: false, waiting, failures };
    }
    if (recorded !== undefined || inventory.size > 0) await records.deleteAll(signal);
    if (config !== undefined) await writer.withoutFinalizer(config, signal);
    return NOTHING_LEFT;
  }

  /** In place of a record that is lost or can't be read. Without our finalizer nothing was applied. */
  #found(config: NetworkAddonsConfig | undefined): Inventory {
    const { view, settings } = this.#options;
    if (!config?.metadata.finalizers?.includes(FINALIZER)) return EMPTY_INVENTORY;
    return foundInventory(view, settings, config.metadata.uid);
  }

  /** Asks the API server: one 404 to a list empties the cache, and then nothing may be removed yet. */
  async #isThere(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.client.get(NETWORK_ADDONS_CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME }, { signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #report(
    config: NetworkAddonsConfig,
    { waiting, failures }: Omit<Removal, "isDone">,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#options.writer.report(config, { kind: "removing", waiting, failures }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function without(inventory: Inventory, gone: ReadonlySet<string>): Inventory {
  return new Map([...inventory].filter(([key]) => !gone.has(key)));
}
