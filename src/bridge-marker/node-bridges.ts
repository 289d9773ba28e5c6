import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";
import { type BridgeSelection, type SkipReason, skipReason } from "./bridge-selection.ts";
import { BridgeTable } from "./bridge-table.ts";
import type { LinkEvent } from "./link-event.ts";
import { PortTable } from "./port-table.ts";

export interface SkippedBridge {
  readonly name: string;
  readonly reason: SkipReason;
}

export interface BridgeResources {
  /** Names of resources. */
  readonly keys: ReadonlySet<string>;
  /** Sorted by name. */
  readonly skipped: readonly SkippedBridge[];
}

/** What the node's bridges are as resources, kept up to date from link events. */
export class NodeBridges {
  readonly #selection: BridgeSelection;
  readonly #bridges = new BridgeTable();
  readonly #ports = new PortTable();

  constructor(selection: BridgeSelection) {
    this.#selection = selection;
  }

  /** Whether the list of links was ever complete. Before that an absent bridge means nothing. */
  get known(): boolean {
    return this.#bridges.known;
  }

  /** Whether the list of links is complete now. */
  get synced(): boolean {
    return this.#bridges.synced;
  }

  /** The source of events restarts. */
  restart(): void {
    this.#bridges.restart();
    this.#ports.restart();
  }

  /** Whether the event may have changed `resources()`, `known` or `synced`. Ports are followed only where they matter. */
  apply(event: LinkEvent): boolean {
    const changed = this.#bridges.apply(event);
    return (this.#selection.onlyWithPorts && this.#ports.apply(event)) || changed;
  }

  resources(): BridgeResources {
    const masters = this.#ports.masters();
    const keys = new Set<string>();
    const skipped: SkippedBridge[] = [];
    for (const { index, name } of this.#bridges.bridges()) {
      const reason = skipReason({ name, hasPorts: masters.has(index) }, this.#selection);
      if (reason === undefined) keys.add(BRIDGE_RESOURCE_PREFIX + name);
      else skipped.push({ name, reason });
    }
    return { keys, skipped: skipped.sort((one, other) => (one.name < other.name ? -1 : 1)) };
  }
}
