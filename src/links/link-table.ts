import { isDeepStrictEqual } from "node:util";
import type { Link, LinkEvent } from "./link-event.ts";

/**
 * Some of the node's links, up to date from link events. During a dump the known links stay; its end removes those that it
 * did not name.
 */
export class LinkTable {
  readonly #keep: (link: Link) => Link | undefined;
  #links = new Map<number, Link>();
  /** What the current dump has named so far; undefined between dumps. */
  #dump: Map<number, Link> | undefined = new Map();
  #known = false;

  /** `keep`: what to keep of a link; undefined for nothing. */
  constructor(keep: (link: Link) => Link | undefined) {
    this.#keep = keep;
  }

  /** Whether a dump was ever complete. Before that an absent link means nothing. */
  get known(): boolean {
    return this.#known;
  }

  /** Whether the table is current, that is, no dump is in progress. */
  get synced(): boolean {
    return this.#known && this.#dump === undefined;
  }

  /** What is kept, lowest index first. */
  get links(): readonly Link[] {
    return [...this.#links.values()].sort((one, other) => one.index - other.index);
  }

  /** The source of events restarts, because its process died. A dump will follow. */
  restart(): void {
    this.#dump = new Map();
  }

  /** Whether the event may have changed `links`, `known` or `synced`. */
  apply(event: LinkEvent): boolean {
    switch (event.event) {
      case "link": {
        const { event: _, ...link } = event;
        return this.#set(link.index, this.#keep(link));
      }
      case "gone":
        return this.#set(event.index, undefined);
      case "lost":
      case "resync":
        this.#dump = new Map();
        return true;
      case "synced":
        this.#links = this.#dump ?? this.#links;
        this.#dump = undefined;
        this.#known = true;
        return true;
      default:
        return false;
    }
  }

  /** An index names one link at a time. The link that had it before is gone or renamed. */
  #set(index: number, kept: Link | undefined): boolean {
    const before = this.#links.get(index);
    for (const links of [this.#links, this.#dump]) {
      if (kept === undefined) links?.delete(index);
      else links?.set(index, kept);
    }
    return !isDeepStrictEqual(before, kept);
  }
}
