import type { LinkEvent } from "./link-event.ts";

/**
 * The bridges of the node, kept up to date from link events. While a dump is under way the bridges known so far stay;
 * its end removes those that it did not name. Everything else that has links (veths by the thousand) is not kept.
 */
export class BridgeTable {
  #bridges = new Map<number, string>();
  /** What the dump under way has named; undefined between dumps. */
  #dump: Map<number, string> | undefined = new Map();
  #known = false;

  /** Whether a dump has ever come to its end: before, an absent bridge means nothing. */
  get known(): boolean {
    return this.#known;
  }

  /** Whether what is here is current, i.e. no dump is under way. */
  get synced(): boolean {
    return this.#known && this.#dump === undefined;
  }

  /** Sorted, each once. */
  names(): string[] {
    return [...new Set(this.#bridges.values())].sort();
  }

  /** The source of events starts anew (the process died): a dump will follow. */
  restart(): void {
    this.#dump = new Map();
  }

  /** Whether `names()`, `known` or `synced` may have changed by it. */
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

  /** An index names one link at a time: whatever had it before is gone or renamed. */
  #link(index: number, bridge: string | undefined): boolean {
    const before = this.#bridges.get(index);
    for (const links of [this.#bridges, this.#dump]) {
      if (bridge === undefined) links?.delete(index);
      else links?.set(index, bridge);
    }
    return before !== bridge;
  }
}
