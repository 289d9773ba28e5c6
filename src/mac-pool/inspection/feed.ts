import type { WatchEventView } from "./envelopes.ts";

/** Changes that are kept for those who come back: more than a replica sees in the seconds in which a connection is made anew. */
const MAX_KEPT = 4_096;
/** Changes are told together: many viewers of a busy pool cost one write each per interval. */
export const FLUSH_MS = 200;

export interface Sink {
  /** False when the viewer reads too slowly, or is gone. */
  write(text: string): boolean;
  end(): void;
}

interface Entry<T> {
  readonly revision: number;
  readonly change: T;
  /** What viewers with the same key are told; empty where they do not see it. */
  readonly texts: Map<string, string>;
}

interface Viewer<T> {
  readonly sink: Sink;
  readonly look: Look<T>;
  /** Revision up to which it has been told. */
  at: number;
}

/** How viewers look at changes. */
export interface Look<T> {
  /** Viewers with the same key are told the same. */
  readonly key: string;
  /** A change as they see it; undefined where they do not. */
  readonly eventOf: (change: T) => WatchEventView<unknown> | undefined;
}

export interface FeedOptions {
  /** Tells this process from others: an ID of another one can't be resumed. */
  readonly boot: string;
  readonly revision: () => number;
  /** Calls back after a time. */
  readonly after: (ms: number, call: () => void) => void;
  readonly max?: number;
}

/**
 * Server-sent events about one kind of thing. IDs are `<boot>-<revision>`. Who resumes is told what he has missed; when that is
 * not known any more he gets RESET, as does everybody who does not resume: list anew then.
 */
export class Feed<T> {
  readonly #options: FeedOptions;
  readonly #max: number;
  readonly #entries: Entry<T>[] = [];
  readonly #viewers = new Set<Viewer<T>>();
  /** Changes up to this revision are forgotten. */
  #forgotten: number;
  #isScheduled = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#max = options.max ?? MAX_KEPT;
    this.#forgotten = options.revision();
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  get id(): string {
    return `${this.#options.boot}-${this.#options.revision()}`;
  }

  /** To be called after the revision has grown. */
  add(change: T): void {
    this.#entries.push({ revision: this.#options.revision(), change, texts: new Map() });
    while (this.#entries.length > this.#max) this.#forgotten = this.#entries.shift()?.revision ?? this.#forgotten;
    if (this.#isScheduled || this.#viewers.size === 0) return;
    this.#isScheduled = true;
    this.#options.after(FLUSH_MS, () => {
      this.#isScheduled = false;
      for (const viewer of [...this.#viewers]) this.#tell(viewer);
    });
  }

  /** Everything has to be listed anew: what happened is not known. */
  reset(): void {
    this.#entries.length = 0;
    this.#forgotten = this.#options.revision();
    for (const viewer of [...this.#viewers]) this.#write(viewer, eventText({ type: "RESET" }, this.id));
  }

  /** The returned function ends it. `lastId`: of the last event, or of the list, that the viewer knows. */
  watch(lastId: string | undefined, look: Look<T>, sink: Sink): () => void {
    const since = this.#revisionOf(lastId);
    const viewer = { sink, look, at: since ?? this.#options.revision() };
    this.#viewers.add(viewer);
    if (since === undefined) this.#write(viewer, eventText({ type: "RESET" }, this.id));
    else {
      this.#write(viewer, eventText({ type: "BOOKMARK" }, `${this.#options.boot}-${since}`));
      this.#tell(viewer);
    }
    return () => this.#viewers.delete(viewer);
  }

  /** Shows each viewer that the connection lives, and where it stands. */
  bookmark(): void {
    for (const viewer of [...this.#viewers]) {
      this.#tell(viewer);
      this.#write(viewer, eventText({ type: "BOOKMARK" }, this.id));
    }
  }

  #revisionOf(id: string | undefined): number | undefined {
    const { boot, revision } = this.#options;
    const match = /^"?([0-9a-z]+)-(\d{1,15})"?$/.exec(id ?? "");
    const since = Number(match?.[2]);
    return match?.[1] === boot && since >= this.#forgotten && since <= revision() ? since : undefined;
  }

  #tell(viewer: Viewer<T>): void {
    const last = this.#entries.at(-1);
    if (last === undefined || last.revision <= viewer.at) return;
    const first = this.#entries.findLastIndex(({ revision }) => revision <= viewer.at) + 1;
    let text = "";
    for (let at = first; at < this.#entries.length; at++) {
      text += this.#textOf(this.#entries[at] as Entry<T>, viewer.look);
    }
    viewer.at = last.revision;
    if (text !== "") this.#write(viewer, text);
  }

  #textOf({ revision, change, texts }: Entry<T>, { key, eventOf }: Look<T>): string {
    const known = texts.get(key);
    if (known !== undefined) return known;
    const event = eventOf(change);
    const text = event === undefined ? "" : eventText(event, `${this.#options.boot}-${revision}`);
    texts.set(key, text);
    return text;
  }

  #write(viewer: Viewer<T>, text: string): void {
    if (viewer.sink.write(text)) return;
    this.#viewers.delete(viewer);
    viewer.sink.end();
  }
}

/** JSON has no line break, so that an event is one line of data. */
function eventText(event: WatchEventView<unknown>, id: string): string {
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
