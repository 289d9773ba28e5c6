import type { LinkEvent } from "./link-event.ts";

/**
 * The bridges of the node, kept up to date from link events. During a dump the known bridges stay; its end removes those
 * that it did not name. Other links (thousands of veths) are not kept.
 */
export class BridgeTable {
  #bridges = new Map<number, string>();
  /** What the current dump has named so far; undefined between dumps. */
  #dump: Map<number, string> | undefined = new Map();
  #known = false;

  /** Whether a dump was ever complete. Before that an absent bridge means nothing. */
  get known(): boolean {
    return this.#known;
  }

  /** Whether the table is current, that is, no dump is in progress. */
  get synced(): boolean {
    return this.#known && this.#dump === undefined;
  }

  /** Sorted, each once. */
  names(): string[] {
    return [...new Set(this.#bridges.values())].sort();
  }

  /** The source of events restarts, because its process died. A dump will follow. */
  restart(): void {
    this.#dump = new Map();
  }

  /** Whether the event may have changed `names()`, `known` or `synced`. */
  apply(event: LinkEvent): boolean {
    switch (event.event) {
      case "link":
        return this.#link(event.index, event.kind === "bridge" ? event.name : undefined);
      case "gone":
        return this.#link(event.index, undefined);
      case "lost":
      case "resync":
        this.#dump = new Map();
        return true;
      case "synced":
        this.#bridges = this.#dump ?? this.#bridges;
        this.#dump = undefined;
        this.#known = true;
        return true;
    }
  }

  /** An index names one link at a time. The link that had it before is gone or renamed. */
  #link(index: number, bridge: string | undefined): boolean {
    const before = this.#bridges.get(index);
    for (const links of [this.#bridges, this.#dump]) {
      if (bridge === undefined) links?.delete(index);
      else links?.set(index, bridge);
    }
    return before !== bridge;
  }
}
