import type { LinkEvent } from "./link-event.ts";

export type SeenLink = Extract<LinkEvent, { readonly event: "link" }>;

/**
 * What is kept of some of the node's links, up to date from link events. During a dump the known links stay; its end
 * removes those that it did not name. Other links (thousands of veths) are not kept.
 */
export class LinkTable<T> {
  readonly #keep: (link: SeenLink) => T | undefined;
  #links = new Map<number, T>();
  /** What the current dump has named so far; undefined between dumps. */
  #dump: Map<number, T> | undefined = new Map();
  #known = false;

  /** `keep`: what to keep of a link; undefined for nothing. */
  constructor(keep: (link: SeenLink) => T | undefined) {
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

  /** By the index of the link, lowest first. */
  protected entries(): (readonly [number, T])[] {
    return [...this.#links].sort(([one], [other]) => one - other);
  }

  /** The source of events restarts, because its process died. A dump will follow. */
  restart(): void {
    this.#dump = new Map();
  }

  /** Whether the event may have changed the entries, `known` or `synced`. */
  apply(event: LinkEvent): boolean {
    switch (event.event) {
      case "link":
        return this.#link(event.index, this.#keep(event));
      case "gone":
        return this.#link(event.index, undefined);
      case "lost":
      case "resync":
        this.#dump = new Map();
        return true;
      case "alive":
        return false;
      case "synced":
        this.#links = this.#dump ?? this.#links;
        this.#dump = undefined;
        this.#known = true;
        return true;
    }
  }

  /** An index names one link at a time. The link that had it before is gone or renamed. */
  #link(index: number, kept: T | undefined): boolean {
    const before = this.#links.get(index);
    for (const links of [this.#links, this.#dump]) {
      if (kept === undefined) links?.delete(index);
      else links?.set(index, kept);
    }
    return before !== kept;
  }
}
