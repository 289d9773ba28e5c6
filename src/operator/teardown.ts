/** Removes everything that was applied, then the finalizer of the NetworkAddonsConfig. What is in the way reaches its status. */

import type { NetworkAddonsConfig } from "../api/network-addons-config.ts";
import { isConflict, isNotFound } from "../kube/client/api-error.ts";
import { COMPONENTS } from "./components/registry.ts";
import type { ConfigWriter } from "./config-writer.ts";
import { messageOf } from "./convergence/applier.ts";
import { EMPTY_INVENTORY, type Inventory } from "./convergence/inventory.ts";
import type { Records } from "./convergence/records.ts";
import type { Remover } from "./convergence/remover.ts";
import type { Decoration } from "./manifests/labels.ts";
import type { Patience } from "./status/patience.ts";

export interface TeardownOptions {
  readonly records: Records;
  readonly remover: Remover;
  readonly writer: ConfigWriter;
  readonly patience: Patience;
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
    const { patience } = this.#options;
    try {
      const removal = await this.#remove(...args);
      patience.reset();
      return removal;
    } catch (error) {
      signal.throwIfAborted();
      if (isConflict(error) || isNotFound(error)) return undefined;
      if (config !== undefined && patience.isOver(error)) {
        await this.#report(config, { waiting: new Map(), failures: [messageOf(error)] }, signal);
      }
      throw error;
    }
  }

  async #remove(
    config: NetworkAddonsConfig | undefined,
    decoration: Decoration,
    signal: AbortSignal,
  ): Promise<Removal> {
    const { records, remover, writer } = this.#options;
    const recorded = await records.inventory(signal);
    const inventory = recorded ?? EMPTY_INVENTORY;
    // The guard is among them: it keeps the namespace and the operator's kinds until no component needs them any more.
    const standing = new Set([...inventory].filter(([, entry]) => STANDING.has(entry.component)).map(([key]) => key));
    const components = await remover.remove(inventory, standing, signal);
    const rest = without(inventory, components.gone);
    const isLast = rest.size === standing.size;
    const { gone, waiting, failures } = isLast ? await remover.remove(rest, NOTHING, signal) : components;
    const left = without(rest, gone);
    if (left.size > 0) {
      if (left.size < inventory.size) await records.saveInventory(left, decoration, signal);
      return { isDone: false, waiting, failures };
    }
    if (recorded !== undefined) await records.deleteAll(signal);
    if (config !== undefined) await writer.withoutFinalizer(config, signal);
    return NOTHING_LEFT;
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
